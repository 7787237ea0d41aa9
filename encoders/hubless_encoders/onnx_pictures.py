"""The half of a model in ONNX that takes pictures."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hubless.encoders.folder_model import rows_of_length_one, wrong_file
from hubless.errors import one_line
from hubless.vectors.arrays import F32
from hubless.vectors.readers.pictures import PictureSource, check_pillow, read_picture
from hubless_encoders.onnx_files import load_graph, output_of
from hubless_encoders.preprocessing import read_preprocessing

POOLED = ("text_embeds", "image_embeds", "sentence_embedding", "pooler_output")
"""Outputs with one vector a text or picture, the best first; without them, the first output."""
_KINDS = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


class PictureGraph:
    """A graph and its preprocessing in memory. Several threads may run it at once."""

    def __init__(self, file: Path, folder: Path, threads: int | None, *, normalise: bool) -> None:
        check_pillow("encoder, type")
        self._preprocessing = read_preprocessing(file.parent, folder)
        self._session = load_graph(file, threads)
        self._normalise = normalise
        given = self._session.get_inputs()
        if len(given) != 1 or given[0].type not in _KINDS:
            received = f"{file} with {', '.join(one.name for one in given)}"
            raise wrong_file("a graph whose only input is a picture", received)
        self._input = given[0].name
        self._kind = _KINDS[given[0].type]
        self._output = output_of(self._session, POOLED)
        self.dim = self._probe(file)

    def picture_input(self, picture: PictureSource, parameter: str) -> F32:
        """Return (3, height, width). Raises `InputError` for what is no picture, or too large."""
        return self._preprocessing.array(read_picture(picture, parameter, self._preprocessing.enough))

    def vectors(self, inputs: Sequence[F32]) -> F32:
        """Return (m, d). Each picture runs alone, so no vector depends on the pictures beside it."""
        found = np.concatenate([self._run(array) for array in inputs])
        return rows_of_length_one(found) if self._normalise else found

    def _run(self, array: F32) -> F32:
        (found,) = self._session.run([self._output], {self._input: array[None].astype(self._kind)})
        return np.asarray(found, np.float32)

    def _probe(self, file: Path) -> int:
        from PIL import Image

        array = self._preprocessing.array(Image.new("RGB", (8, 8)))
        try:
            found = self._run(array)
        except Exception as error:  # the package's errors have no base of their own
            _, height, width = array.shape
            raise wrong_file(f"a graph that takes {width} × {height} pixels", f"{file}: {one_line(error)}") from error
        if found.ndim != 2 or len(found) != 1:
            expected = f"a graph with a vector per picture, as one of {', '.join(POOLED)} or as first output"
            raise wrong_file(expected, f"{file}, whose {self._output} has shape {found.shape} for one picture")
        return int(found.shape[1])
