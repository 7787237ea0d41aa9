"""Files that say that they are pictures, and would take all memory or time."""

import struct
import zlib


def chunk(name, data=b""):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, *chunks, data=b""):
    """A PNG that says that it is so large; without data it cannot be decoded."""
    said = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    between = b"".join(chunks)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", said) + between + chunk(b"IDAT", zlib.compress(data, 1))


BOMBS = {
    "line": (png(1, 40_000_000), "sides of which one is at most 200 times as long as the other, got 1 × 40000000"),
    "row": (png(500_000, 100), "sides of which one is at most 200 times as long as the other, got 500000 × 100"),
    "square": (png(8000, 6251), "a picture of at most 50,000,000 pixels, got 8000 × 6251"),
    "larger": (png(40_000, 40_000), "a picture of at most 50,000,000 pixels, got more"),
    "webp": (
        bytes.fromhex("524946461a000000574542505650384c0e0000002f9e5bde06071011fd0f4444ff03"),
        "a picture of at most 20,000,000 pixels, got 7071 × 7034",
    ),
    "parts": (png(9, 9, *[chunk(b"abCd")] * 999), "a picture as JPEG, PNG, WebP or GIF, got one of too many parts"),
}
"""Files of some bytes, and what is said of them."""
