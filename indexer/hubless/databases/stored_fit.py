"""A fitted correction as a database keeps it: bytes, or texts where it holds no bytes."""

import io
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ABOUT = "about"


def packed(state: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> bytes:
    """Return a fitted correction as bytes: its arrays, and in JSON what they are."""
    held = io.BytesIO()
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez(held, **{**state, _ABOUT: text})  # type: ignore[arg-type]
    return held.getvalue()


def unpacked(fit: bytes) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays of a packed fit, and what they are. Raises what NumPy does for anything else."""
    with np.load(io.BytesIO(fit), allow_pickle=False) as held:
        state = {name: held[name] for name in held.files}
    return state, json.loads(state.pop(_ABOUT).tobytes())


def pieces(content: bytes, size: int) -> list[str]:
    """Return content as texts of at most `size` characters, for databases that hold no bytes."""
    text = b64encode(content).decode()
    return [text[start : start + size] for start in range(0, len(text), size)]


def joined(texts: Sequence[str]) -> bytes | None:
    """Return the content of `pieces`, and None of none."""
    return b64decode("".join(texts)) if texts else None
