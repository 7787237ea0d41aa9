"""Which graphs stand in the folder of a model in ONNX, and how a graph is loaded."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hubless.encoders.folder_model import existing, wrong_file
from hubless.errors import one_line

GRAPHS = ("model.onnx", "onnx/model.onnx")
HALVES = (("text_model", "vision_model"), ("textual", "visual"), ("textual/model", "visual/model"))
"""Names of the graph of texts and of that of pictures, as optimum, open_clip's users and Immich export them."""
_FOLDERS = ("", "onnx/")
_VARIANTS = ("", "_fp16", "_quantized", "_int8", "_uint8", "_q4f16", "_q4", "_bnb4")
"""What exporters write behind a name for other sizes of numbers; the first that is there is taken."""


def text_graph(folder: Path, file: str | None) -> tuple[Path, bool]:
    """Return the graph of texts, and whether it is half of a pair. `InputError` if there is none."""
    if file is not None:
        return existing(folder / file), _other_half(file) is not None
    for half, _ in HALVES:
        if found := _first(folder, _named(half)):
            return found, True
    return _first(folder, iter(GRAPHS)) or existing(folder / GRAPHS[0]), False


def picture_graph(folder: Path, file: str | None, picture_file: str | None) -> Path | None:
    """Return the graph of pictures: the one given, the other half of the file of texts, or None if there is none."""
    if picture_file is not None:
        return existing(folder / picture_file)
    if file is not None and (other := _other_half(file)) and (folder / other).is_file():
        return folder / other
    found = (_first(folder, _named(half)) for _, half in HALVES)
    return next(filter(None, found), None)


def load_graph(file: Path, threads: int | None) -> Any:
    """Return a session of onnxruntime on the processor. `InputError` if the file is no graph for it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or 0
    # threads that wait must not keep cores from searches
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the package's errors have no base of their own
        raise wrong_file("a graph that onnxruntime can load", f"{file}: {one_line(error)}") from error


def output_of(session: Any, names: Sequence[str]) -> str:
    """Return the first of some names that an output of a graph has; without any, the name of its first output."""
    outputs = [output.name for output in session.get_outputs()]
    return next((name for name in names if name in outputs), outputs[0])


def _named(half: str) -> Iterator[str]:
    return (f"{folder}{half}{variant}.onnx" for folder in _FOLDERS for variant in _VARIANTS)


def _first(folder: Path, names: Iterator[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _other_half(file: str) -> str | None:
    """Return the name of the graph of pictures beside one of texts, of the same variant."""
    for texts, pictures in HALVES:
        if texts in file:
            return file.replace(texts, pictures)
    return None
