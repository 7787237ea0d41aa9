"""A transformer in ONNX: onnxruntime runs it on the processor, without torch."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from hubless.encoders import folder_model
from hubless.encoders.folder_model import wrong_file
from hubless.errors import InputError, one_line
from hubless.forks import left_to_parent
from hubless.vectors.arrays import F32

GRAPHS = ("model.onnx", "onnx/model.onnx")

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
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
    file: str | None = Field(
        default=None, description="The graph in the folder; model.onnx or onnx/model.onnx if not given."
    )
    pooling: Literal["mean", "cls", "lasttoken"] | None = Field(
        default=None, description="How vectors of tokens become one; as 1_Pooling/config.json says if not given."
    )
    normalize: bool | None = Field(
        default=None, description="Whether vectors get length 1; as modules.json says if not given."
    )
    max_seq_length: int | None = Field(
        default=None, ge=1, description="Tokens of a text that are read; as the model's files say if not given."
    )
    batch: int = Field(default=32, ge=1, description="Texts that the model takes at once.")
    threads: int | None = Field(default=None, ge=1, description="Of one call; one per core if not given.")


class OnnxModel(folder_model.FolderModel):
    """A graph, `tokenizer.json`, and the configuration of sentence-transformers where there is one."""

    described = OnnxDescription
    packages = ("onnxruntime", "tokenizers")
    quick_when_loaded = False

    description: OnnxDescription

    def renew(self) -> None:
        super().renew()
        left_to_parent(self._loaded)  # its threads are gone in a forked process
        self._loaded = None

    def _read(self) -> "OnnxGraph":
        return OnnxGraph(self.description)


class OnnxGraph:
    """A graph in memory. Several threads may run it at once."""

    def __init__(self, wanted: OnnxDescription) -> None:
        folder = Path(wanted.path)
        names = [wanted.file] if wanted.file else [name for name in GRAPHS if (folder / name).is_file()] or [GRAPHS[0]]
        file = folder_model.existing(folder / names[0])
        bert = folder_model.read_object(folder / "sentence_bert_config.json")
        self._lower = bool(bert.get("do_lower_case"))
        self._tokeniser = folder_model.read_tokeniser(folder)
        if most := wanted.max_seq_length or bert.get("max_seq_length") or _longest(folder):
            self._tokeniser.enable_truncation(max_length=int(most))
        self._padding = self._tokeniser.token_to_id("[PAD]") or self._tokeniser.token_to_id("<pad>") or 0
        self._session = _session(file, wanted.threads)
        self._inputs = {given.name: _integer(given.type) for given in self._session.get_inputs()}
        if "input_ids" not in self._inputs or not set(self._inputs) <= set(_INPUTS):
            received = f"{file} with {', '.join(self._inputs)}"
            raise wrong_file(f"a graph with the inputs {', '.join(_INPUTS)}, or some of them", received)
        outputs = [output.name for output in self._session.get_outputs()]
        self._output = _POOLED if _POOLED in outputs else outputs[0]
        self.batch = wanted.batch
        self.prompt = folder_model.own_prompt(folder) if wanted.prompt is None else wanted.prompt
        modules = folder_model.module_names(folder)
        self._normalise = "Normalize" in modules if wanted.normalize is None else wanted.normalize
        # tells dimensions that the graph leaves open, and whether it runs at all
        first = self._probe(file)
        self._pool = None if first.ndim == 2 else _pooling(folder, wanted, modules, self.prompt)
        if first.ndim == 2 and wanted.pooling:
            raise InputError("encoder, pooling", "no pooling, because the graph pools by itself", wanted.pooling)
        self.dim = int(first.shape[-1])

    def vectors(self, texts: Sequence[str]) -> F32:
        found, mask = self._run(texts)
        pooled = found if self._pool is None else self._pool(found, mask)
        pooled = np.where(mask.any(axis=1, keepdims=True), pooled, np.float32(0))
        return folder_model.unit_rows(pooled) if self._normalise else pooled

    def _run(self, texts: Sequence[str]) -> tuple[F32, F32]:
        stripped = [text.strip() for text in texts]
        encodings = self._tokeniser.encode_batch_fast([text.lower() for text in stripped] if self._lower else stripped)
        width = max(1, *(len(encoding.ids) for encoding in encodings))
        ids = np.full((len(texts), width), self._padding)
        types, mask = np.zeros_like(ids), np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            count = len(encoding.ids)
            ids[row, :count], types[row, :count], mask[row, :count] = encoding.ids, encoding.type_ids, 1
        arrays = dict(zip(_INPUTS, (ids, mask, types), strict=True))
        feed = {name: arrays[name].astype(kind) for name, kind in self._inputs.items()}
        (found,) = self._session.run([self._output], feed)
        return np.asarray(found, np.float32), mask.astype(np.float32)

    def _probe(self, file: Path) -> F32:
        try:
            found, mask = self._run(["a"])
        except Exception as error:  # the package's errors have no base of their own
            raise wrong_file("a graph that takes tokens", f"{file}: {one_line(error)}") from error
        if found.shape[:-1] not in (mask.shape, mask.shape[:1]):
            expected = "a graph whose first output is a vector per token or per text"
            raise wrong_file(expected, f"{file}, whose {self._output} has shape {found.shape} for one text")
        return found


def _session(file: Path, threads: int | None) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or 0
    # threads that wait must not keep cores from searches
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the package's errors have no base of their own
        raise wrong_file("a graph that onnxruntime can load", f"{file}: {one_line(error)}") from error


def _integer(kind: str) -> type[np.signedinteger[Any]]:
    return np.int32 if kind == "tensor(int32)" else np.int64


def _longest(folder: Path) -> int | None:
    """Return how many tokens the model takes, as sentence-transformers finds it without its own configuration."""
    found = (
        folder_model.read_object(folder / "tokenizer_config.json").get("model_max_length"),
        folder_model.read_object(folder / "config.json").get("max_position_embeddings"),
    )
    # "no limit" is written as 10³⁰
    limits = [int(limit) for limit in found if isinstance(limit, int | float) and 0 < limit < 2**31]
    return min(limits, default=None)


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
