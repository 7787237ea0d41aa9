"""Pictures made by formula: waves of a few frequencies, of all shapes, with edges that show how they are resampled."""

import numpy as np
from PIL import Image

SIZES = [
    (640, 480),
    (480, 640),
    (224, 224),
    (223, 500),
    (501, 337),
    (50, 40),
    (97, 301),
    (1024, 200),
    (200, 1024),
    (3, 5),
]
MODES = ["RGB", "RGBA", "L", "P"]


def made(number):
    """One of 20 and more pictures, with the size and mode of its number."""
    width, height = SIZES[number % len(SIZES)]
    y, x = np.mgrid[:height, :width].astype(np.int64)
    # whole numbers only, so that each machine makes the same pixels
    waves = np.stack([(x * x // (7 + number) + y * (3 + band * number)) % 256 for band in range(3)], axis=-1)
    waves[(x // 16 + y // 16) % 5 == number % 5] = [255, 0, 40 * (number % 6)]
    picture = Image.fromarray(waves.astype(np.uint8))
    mode = MODES[number % len(MODES)]
    return picture if mode == "RGB" else picture.convert(mode)
