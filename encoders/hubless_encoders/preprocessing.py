"""Pictures → arrays, as the file of a model says: the steps of transformers' slow processors, and of open_clip."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hubless.encoders import folder_model
from hubless.encoders.folder_model import wrong_file
from hubless.vectors.arrays import F32
from hubless.vectors.readers.pictures import MOST_PIXELS

if TYPE_CHECKING:
    from PIL.Image import Image

_OTHER_STEPS = ("do_pad", "do_thumbnail", "do_align_long_axis", "do_image_splitting", "crop_pct", "max_num_patches")
"""Steps that some models have and we do not: their vectors would be others than the model's."""
_RESAMPLING = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
"""Codes as Pillow has them, and as transformers writes them."""
_GAP = 3


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """The way of a picture to a graph: resized, its centre cut out, scaled, normalised."""

    shortest: int | None
    """Pixels of the shorter side, the other one in proportion; or None: `size` says both."""
    size: tuple[int, int] | None
    """(height, width), whatever shape the picture had; None: not resized."""
    resample: int
    crop: tuple[int, int] | None
    """(height, width) of what is kept of the centre; black where the picture is smaller."""
    halved: Callable[[int], int]
    """What of the pixels that a crop takes away lies before it."""
    factor: float
    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @property
    def enough(self) -> int:
        """Pixels of the shorter side that are enough: a larger picture may be made smaller before it comes.

        Three times what it is resized to: Pillow calls that almost indistinguishable (`reducing_gap`).
        """
        wanted = self.shortest if self.size is None else max(self.size)
        return _GAP * (wanted or MOST_PIXELS)

    def array(self, picture: "Image") -> F32:
        """Return (3, height, width): each channel (x · factor − mean) / deviation of a picture in RGB."""
        if (wanted := self._wanted(*picture.size)) is not None:
            picture = picture.resize(wanted, self.resample)
        if self.crop is not None:
            height, width = self.crop
            left = self.halved(picture.width - width)
            top = self.halved(picture.height - height)
            picture = picture.crop((left, top, left + width, top + height))
        scaled = np.asarray(picture, np.float32) * np.float32(self.factor)
        rows = (scaled - np.asarray(self.mean, np.float32)) / np.asarray(self.deviation, np.float32)
        return np.ascontiguousarray(rows.transpose(2, 0, 1), np.float32)

    def _wanted(self, width: int, height: int) -> tuple[int, int] | None:
        if self.size is not None:
            return self.size[1], self.size[0]
        if self.shortest is None:
            return None
        longer = int(self.shortest * max(width, height) / min(width, height))
        return (self.shortest, longer) if width <= height else (longer, self.shortest)


def read_preprocessing(*folders: Path) -> Preprocessing:
    """Read the first of the files that say it, in the first folder that has one. `InputError` names what is wrong."""
    for folder in folders:
        for name, of in _FILES.items():
            if (file := folder / name).is_file():
                try:
                    return of(folder_model.read_object(file))
                except (KeyError, TypeError, ValueError, AttributeError) as error:
                    expected = "the preprocessing of pictures: size, crop, mean and deviation"
                    raise wrong_file(expected, f"{file} ({type(error).__name__}: {error})") from error
    raise wrong_file(f"a folder with {' or '.join(_FILES)}", folders[-1])


def _of_transformers(config: Mapping[str, Any]) -> Preprocessing:
    """Read a `preprocessor_config.json` of transformers. Raises `ValueError` for steps that are not known here."""
    if others := [name for name in _OTHER_STEPS if config.get(name)]:
        raise ValueError(f"it also has {', '.join(others)}")
    size = _sides(config["size"]) if config.get("do_resize", True) else None
    crops = bool(config.get("do_center_crop"))
    named = isinstance(config.get("size"), Mapping)
    if isinstance(size, int) and not (named or crops):
        size = _pair(size)  # old files, of models that do not crop
    scales = config.get("do_rescale", True)
    normalises = config.get("do_normalize", True)
    return Preprocessing(
        shortest=size if isinstance(size, int) else None,
        size=size if isinstance(size, tuple) else None,
        resample=int(config.get("resample", _RESAMPLING["bicubic"])),
        crop=_pair(_sides(config["crop_size"])) if crops else None,
        halved=lambda rest: rest // 2,
        factor=float(config.get("rescale_factor", 1 / 255)) if scales else 1.0,
        mean=_numbers(config["image_mean"]) if normalises else (0.0,),
        deviation=_numbers(config["image_std"]) if normalises else (1.0,),
    )


def _of_open_clip(config: Mapping[str, Any]) -> Preprocessing:
    """Read an `open_clip_config.json`. Raises `ValueError` for another way to resize."""
    whole = config.get("model_cfg", {}).get("vision_cfg", {})
    config = config.get("preprocess_cfg", config)
    size = _sides(config.get("size") or whole["image_size"])
    mode = config.get("resize_mode", "shortest")
    if mode not in ("shortest", "squash"):
        raise ValueError(f"resize_mode {mode}")
    height, width = _pair(size)
    crops = mode == "shortest"
    if crops and height != width:
        raise ValueError("sides that differ, with resize_mode shortest")
    return Preprocessing(
        shortest=height if crops else None,
        size=None if crops else (height, width),
        resample=_RESAMPLING[config.get("interpolation", "bicubic")],
        crop=(height, width) if crops else None,
        halved=lambda rest: round(rest / 2),  # as torchvision crops
        factor=1 / 255,
        mean=_numbers(config["mean"]),
        deviation=_numbers(config["std"]),
    )


_FILES: dict[str, Callable[[Mapping[str, Any]], Preprocessing]] = {
    "preprocessor_config.json": _of_transformers,
    "preprocess_cfg.json": _of_open_clip,
    "open_clip_config.json": _of_open_clip,
}


def _sides(size: Any) -> int | tuple[int, int]:
    """Return the shorter side, or (height, width): sizes are numbers, lists, or objects by the names of the sides."""
    if isinstance(size, Mapping):
        names = set(size)
        if names == {"shortest_edge"}:
            return _positive(size["shortest_edge"])
        if names != {"height", "width"}:
            raise ValueError(f"a size with {', '.join(map(str, names))}")
        return _positive(size["height"]), _positive(size["width"])
    if isinstance(size, list | tuple):
        height, width = size
        return _positive(height), _positive(width)
    return _positive(size)


def _pair(size: int | tuple[int, int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else size


def _positive(number: Any) -> int:
    if not isinstance(number, int) or not 0 < number <= 10_000:
        raise ValueError(f"{number!r} as a number of pixels")
    return number


def _numbers(values: Any) -> tuple[float, ...]:
    found = tuple(float(value) for value in values)
    if len(found) != 3:
        raise ValueError(f"{len(found)} numbers for three channels")
    return found
