"""A peer on a loopback socket that drips: it sends a byte or a line again and again, and never ends."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

PATIENCE = 10
"""Seconds of dripping. Whoever holds on for longer sees the connection end."""
PAUSE = 0.02
MOST = 256
"""Connections that drip at a time."""
_CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
_CHUNK = b"1\r\n \r\n"

# what is sent at once, and what is sent again and again
DRIPS = {
    "a status line": (b"HTTP/1.1 200 ", b"O"),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X: x\r\n"),
    "interim answers": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "an answer": (b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b" "),
    "chunks": (b"HTTP/1.1 200 OK\r\n" + _CHUNKED, _CHUNK),
    "a refusal of the text": (b"HTTP/1.1 400 Bad Request\r\n" + _CHUNKED, _CHUNK),
    "a failure": (b"HTTP/1.1 500 Internal Server Error\r\n" + _CHUNKED, _CHUNK),
    "a failure that is tried again": (b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\n" + _CHUNKED, _CHUNK),
    "a redirect": (b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /\r\n" + _CHUNKED, _CHUNK),
}
HANDSHAKE = (b"\x16\x03\x03\x40\x00", b"\x00")
"""The same for a server that is asked over TLS: a record that does not end."""


@contextmanager
def dripping(first, again, is_well=None, whole=b""):
    """The address of such a peer, without its scheme. Once an event `is_well` is set, its answers are `whole`."""
    over = threading.Event()

    def drip(connection):
        with connection, suppress(OSError):
            connection.recv(2**16)
            if is_well and is_well.is_set():
                connection.sendall(whole)
                return
            connection.sendall(first)
            for _ in range(round(PATIENCE / PAUSE)):
                connection.sendall(again)
                if over.wait(PAUSE):
                    return

    def listen(listener):
        with suppress(OSError):
            while True:
                pool.submit(drip, listener.accept()[0])

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(MOST) as pool:
        pool.submit(listen, listener)
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()
            listener.shutdown(socket.SHUT_RDWR)
