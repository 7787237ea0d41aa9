"""How long the kernel has kept what a connection received."""

import asyncio
import socket
import struct
import sys

_LAST_RECEIVED = struct.Struct("52xI")  # milliseconds, in Linux's `struct tcp_info`


def seconds_unread(transport: asyncio.Transport) -> float:
    """Seconds since the last bytes came over a connection; 0 where the system does not say."""
    if sys.platform != "linux" or (descriptor := transport.get_extra_info("socket").fileno()) < 0:
        return 0.0
    # named, or the constructor asks the system for them
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, descriptor)
    try:
        milliseconds: int
        (milliseconds,) = _LAST_RECEIVED.unpack(
            connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_RECEIVED.size)
        )
        return milliseconds / 1000
    except (OSError, struct.error):
        return 0.0
    finally:
        connection.detach()
