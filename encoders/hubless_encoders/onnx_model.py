"""A transformer in ONNX, or a pair for texts and pictures: onnxruntime runs it on the processor, without torch."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from hubless.encoders import folder_model
from hubless.encoders.base import checked
from hubless.encoders.folder_model import wrong_file
from hubless.errors import InputError, NoEncoder, one_line
from hubless.kernels.forks import left_to_parent
from hubless.vectors.arrays import F32
from hubless.vectors.readers.pictures import PictureSource
from hubless_encoders.onnx_files import load_graph, output_of, picture_graph, text_graph
from hubless_encoders.onnx_pictures import POOLED, PictureGraph
from hubless_encoders.onnx_tokens import TextTokens

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_SHORT = {"tensor(int32)": np.int32}
_POOLED = "sentence_embedding"
"""Output of a graph that was exported with pooling and all that follows it."""


def _mean(tokens: F32, mask: F32) -> F32:
    total = np.einsum("mtd,mt->md", tokens, mask)
    return np.asarray(total / np.maximum(mask.sum(axis=1, keepdims=True), 1))


def _first(tokens: F32, mask: F32) -> F32:
    return tokens[:, 0]


def _last(tokens: F32, mask: F32) -> F32:
    last = mask.sum(axis=1).astype(int) - 1
    return np.asarray(tokens[np.arange(len(tokens)), last])


POOLING: dict[str, Callable[[F32, F32], F32]] = {"mean": _mean, "cls": _first, "lasttoken": _last}
"""(m, t, d) vectors of tokens and (m, t) mask → (m, d). Tokens are padded on the right."""

# as sentence-transformers wrote them before version 6
_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


class OnnxDescription(folder_model.FolderDescription):
    """The folder of the graph. Its files answer what is not given here."""

    type: Literal["onnx"] = "onnx"
    file: str | None = None
    """The graph in the folder; that of texts of a pair, or model.onnx, if not given."""
    picture_file: str | None = None
    """The graph of pictures; the other half of the pair if not given."""
    pooling: Literal["mean", "cls", "lasttoken"] | None = None
    """How vectors of tokens become one; as 1_Pooling/config.json says if not given."""
    normalize: bool | None = None
    """Whether vectors get length 1; those of a pair do, else as modules.json says."""
    max_seq_length: int | None = Field(default=None, ge=1)
    """Tokens of a text that are read; as the model's files say if not given."""
    batch: int = Field(default=32, ge=1)
    """Texts that the model takes at once."""
    threads: int | None = Field(default=None, ge=1)
    """Of one call; one per core if not given."""


class OnnxModel(folder_model.FolderModel):
    """A graph, `tokenizer.json`, and the configuration of sentence-transformers where there is one."""

    described = OnnxDescription
    packages = ("onnxruntime", "tokenizers")
    distribution = "hubless-encoders"
    quick_when_loaded = False

    description: OnnxDescription
    _pictures: PictureGraph | None = None

    def renew(self) -> None:
        super().renew()
        for session in (self._loaded, self._pictures):
            left_to_parent(session)  # its threads are gone in a forked process
        self._loaded = self._pictures = None

    @property
    def takes_pictures(self) -> bool:
        wanted = self.description
        return wanted.picture_file is not None or picture_graph(Path(wanted.path), wanted.file, None) is not None

    def check_pictures(self) -> None:
        self.check_packages()
        if (found := self._picture_half().dim) != self.dim:
            path = self.description.path
            raise InputError("encoder, path", f"a graph of pictures of {self.dim} dimensions", f"{path} with {found}")

    def own_dim(self, *, pictures: bool = False) -> int:
        self.check_packages()
        return (self._picture_half() if pictures else self._model()).dim

    def picture_input(self, picture: PictureSource, parameter: str = "picture") -> F32:
        return self.guarded(self._picture_half).picture_input(picture, parameter)

    def encode_pictures(self, inputs: Sequence[F32], seconds: float | None = None) -> F32:
        if not inputs:
            return np.empty((0, self.dim), np.float32)
        return checked(self.guarded(lambda: self._picture_half().vectors(inputs)), len(inputs), self.dim)

    def _read(self) -> "OnnxGraph":
        return OnnxGraph(self.description)

    def _picture_half(self) -> PictureGraph:
        with self._lock:
            if self._pictures is None:
                self._pictures = self.read_soundly(self._read_pictures)
            return self._pictures

    def _read_pictures(self) -> PictureGraph:
        wanted = self.description
        folder = Path(self.description.path)
        file = picture_graph(folder, wanted.file, wanted.picture_file)
        if file is None:
            expected = "a collection whose encoder takes pictures"
            raise NoEncoder("picture", expected, "a model without a graph of pictures")
        return PictureGraph(file, folder, wanted.threads, normalise=wanted.normalize is not False)


class OnnxGraph:
    """A graph in memory. Several threads may run it at once."""

    def __init__(self, wanted: OnnxDescription) -> None:
        """Load graph and tokens, and find out by one text how to pool, and how many dimensions there are."""
        folder = Path(wanted.path)
        file, is_half = text_graph(folder, wanted.file)
        self._tokens = TextTokens(folder, file)
        self._session = load_graph(file, wanted.threads)
        self._inputs = _inputs_of(self._session, file, is_half=is_half)
        shape = self._session.get_inputs()[0].shape
        rows, width = (size if isinstance(size, int) else None for size in shape)
        self._tokens.cut(wanted.max_seq_length, width, is_half=is_half)
        self.batch = rows or wanted.batch
        self._output = output_of(self._session, POOLED if is_half else (_POOLED,))
        self.prompt = folder_model.own_prompt(folder) if wanted.prompt is None else wanted.prompt
        modules = folder_model.module_names(folder)
        self._normalise = (is_half or "Normalize" in modules) if wanted.normalize is None else wanted.normalize
        # tells dimensions that the graph leaves open, and whether it runs at all
        probe = self._probe(file)
        self._pool = None if probe.ndim == 2 else _pooling(folder, wanted, modules, self.prompt)
        if probe.ndim == 2 and wanted.pooling:
            raise InputError("encoder, pooling", "no pooling, because the graph pools by itself", wanted.pooling)
        self.dim = int(probe.shape[-1])

    def vectors(self, texts: Sequence[str]) -> F32:
        found, mask = self._run(texts)
        pooled = found if self._pool is None else self._pool(found, mask)
        pooled = np.where(mask.any(axis=1, keepdims=True), pooled, np.float32(0))
        return folder_model.rows_of_length_one(pooled) if self._normalise else pooled

    def _run(self, texts: Sequence[str]) -> tuple[F32, F32]:
        arrays = self._tokens.arrays(texts)
        feed = {name: arrays[place].astype(kind) for name, (place, kind) in self._inputs.items()}
        (found,) = self._session.run([self._output], feed)
        return np.asarray(found, np.float32), arrays[1].astype(np.float32)

    def _probe(self, file: Path) -> F32:
        try:
            found, mask = self._run(["a"])
        except Exception as error:  # the package's errors have no base of their own
            raise wrong_file("a graph that takes tokens", f"{file}: {one_line(error)}") from error
        if found.shape[:-1] not in (mask.shape, mask.shape[:1]):
            expected = "a graph whose first output is a vector per token or per text"
            raise wrong_file(expected, f"{file}, whose {self._output} has shape {found.shape} for one text")
        return found


def _inputs_of(session: Any, file: Path, *, is_half: bool) -> dict[str, tuple[int, Any]]:
    """Return the names of the inputs of a graph, the place of each in `_INPUTS`, and its kind of number.

    Half of a pair may call its only input as it likes.
    """
    given = session.get_inputs()
    names = [one.name for one in given]
    known = names if is_half and len(given) == 1 else _INPUTS
    if known[0] not in names or not set(names) <= set(known):
        received = f"{file} with {', '.join(names)}"
        raise wrong_file(f"a graph with the inputs {', '.join(_INPUTS)}, or some of them", received)
    return {one.name: (known.index(one.name), _SHORT.get(one.type, np.int64)) for one in given}


def _pooling(folder: Path, wanted: OnnxDescription, modules: list[str], prompt: str) -> Callable[[F32, F32], F32]:
    folder_model.check_modules(folder, modules, ("Transformer", "Pooling", "Normalize"))
    if wanted.pooling is not None:
        return POOLING[wanted.pooling]
    file = folder / "1_Pooling" / "config.json"
    if not file.exists():
        expected = f"one of {', '.join(POOLING)}, because the folder has no 1_Pooling/config.json"
        raise InputError("encoder, pooling", expected, "nothing")
    config = folder_model.read_object(file)
    modes = config.get("pooling_mode", [mode for flag, mode in _FLAGS.items() if config.get(flag)] or "mean")
    names = [modes] if isinstance(modes, str) else list(modes)
    if len(names) != 1 or names[0] not in POOLING:
        raise wrong_file(f"one pooling of {', '.join(POOLING)}", f"{file} with {', '.join(map(str, names))}")
    if prompt and config.get("include_prompt") is False:
        raise wrong_file("a model that pools its prompt too", f"{file}, which leaves it out: use sentence-transformers")
    return POOLING[names[0]]
