"""The job file of `hubless reindex`: its models, which are its contract."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SkipValidation,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from hubless.builder.executors import NAMES, check_executor
from hubless.builder.incompatible import check_together
from hubless.builder.written_corrections import short_correction
from hubless.errors import InputError, StorageError, one_line, storage_errors
from hubless.jobs.databases import databases
from hubless.knn.aims import RECALL
from hubless.store.names import check_name
from hubless.vectors.comparing import Metric
from hubless.vectors.object_rows import brief
from hubless.vectors.payload import known_types

JOB_VERSION = 1
MOST_GONE = 0.2
_EXPECTED = {
    "model": "keys and values",
    "dict": "keys and values",
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "too": "at least one",
    "invalid": "text",
}
"""Expected values by the first words of pydantic's types of errors. The others are what pydantic says."""
_Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class TargetFiles(_Section):
    """Files of targets."""

    path: str = Field(min_length=1)
    """A file, folder, pattern or database."""
    ids: str | None = None
    """A file with the ids, or a column."""
    payload: str | None = None
    """A file with the payload."""


class CorrectionChoice(_Section):
    """The correction of hubness."""

    name: str = "auto"
    """A method."""
    parameters: dict[str, Any] = {}
    """Those of the method."""
    tuned: str | None = Field(default=None, alias="from")
    """File that `hubless tune` wrote."""

    @model_validator(mode="after")
    def _one_of_both(self) -> "CorrectionChoice":
        if self.tuned is not None and self.model_fields_set - {"tuned"}:
            raise ValueError("either `from`, or `name` and `parameters`")
        return self


class IndexChoice(_Section):
    """The kind of index and its aims."""

    type: str = "auto"
    """A kind of index."""
    recall: float = RECALL
    """The recall@10 to reach."""
    memory: SkipValidation[int | str | None] = None
    """Bytes at most, or a text such as 4GB."""
    latency: SkipValidation[float | str | None] = None
    """Milliseconds of a query on one thread, or 2ms."""
    engine: str = "faiss"
    """Holds the vectors."""
    shard_targets: int | None = None
    """Most targets in a segment."""
    grown: _Share = 0.2
    """Most targets after the training, a share."""


class RefitRules(_Section):
    """Rules for fitting the correction anew."""

    frozen: _Share = 0.2
    """Most targets after the fit, a share."""
    bank: Literal["changed", "never"] = "changed"
    """Fit anew when the bank changed, or never."""
    days: float | None = Field(default=None, gt=0)
    """Most days since the fit."""


class _Gate(_Section):
    @model_validator(mode="after")
    def _bounded(self) -> "_Gate":
        bounds = [name for name in type(self).model_fields if name.startswith(("min", "max"))]
        if all(getattr(self, name) is None for name in self.model_fields_set.intersection(bounds)):
            raise ValueError(f"a bound: {' or '.join(bounds)}")
        return self


class RowsGate(_Gate):
    """Bounds of the number of targets."""

    min: int | None = Field(default=None, ge=0)
    """Number of targets."""
    max: int | None = Field(default=None, ge=0)
    """Number of targets."""
    max_change: float | None = Field(default=None, ge=0)
    """Change of the number, a share."""
    max_gone: _Share = MOST_GONE
    """Share that no file has any more."""


class ColumnsGate(_Gate):
    """Bounds of what columns lose."""

    max_emptied: _Share = MOST_GONE
    """Share of a column's values that the files lost."""


class LeastShare(_Gate):
    """The least that a share may be."""

    min: _Share | None = None


class HubnessGate(_Gate):
    """Hubness of the corrected answers."""

    max_skewness: float | None = None
    """Skewness of N_10."""
    max_most: int | None = Field(default=None, ge=0)
    """N_10 of the worst hub."""
    max_antihubs: _Share | None = None
    """Share of targets never found."""


class CanariesGate(_Gate):
    """Share of the top 10 of canary queries that changed."""

    max_changed: _Share | None = None


class FirstRightGate(_Gate):
    """R@1 on labelled pairs."""

    queries: str
    """A file; this gate needs it."""
    relevant: str
    """Their labels, likewise."""
    min: _Share | None = None
    """R@1."""
    max_drop: _Share | None = None
    """Below the current version's R@1."""


class Gates(_Section):
    """Bounds that a version must reach before it is published."""

    rows: RowsGate = RowsGate(max_gone=MOST_GONE)
    columns: ColumnsGate = ColumnsGate(max_emptied=MOST_GONE)
    recall: LeastShare | None = None
    """Recall@10 of the index."""
    hubness: HubnessGate | None = None
    canaries: CanariesGate | None = None
    coverage: LeastShare | None = None
    """Share of targets that the bank covers."""
    r_at_1: FirstRightGate | None = None

    @field_validator("*", mode="before")
    @classmethod
    def _given(cls, gate: Any) -> Any:
        if gate is None:  # a key with nothing after it
            raise ValueError("a bound, or no such key")
        return gate


class Retention(_Section):
    """Versions to keep once a new one is published. The current one always stays."""

    versions: int | None = Field(default=None, ge=1)
    """Newest versions to keep."""


class ExecutorChoice(_Section):
    """The executor of the work."""

    type: Annotated[str, AfterValidator(check_executor)] = Field(default="local", description=f"{NAMES}.")


def _listed(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


def _sources(given: Any) -> Any:
    listed = given if isinstance(given, list) else [given]
    return [{"path": each} if isinstance(each, str) else each for each in listed]


def _short(given: Any) -> Any:
    return dict(zip(("name", "parameters"), short_correction(given), strict=True)) if isinstance(given, str) else given


_Files: TypeAlias = Annotated[list[Annotated[str, Field(min_length=1)]], BeforeValidator(_listed)]


class ReindexJob(_Section):
    """The content of a collection. Paths are seen from the folder of the file."""

    version: Literal[1]
    """1."""
    catalog: str | None = Field(default=None, min_length=1)
    """A folder or address."""
    collection: str
    """A name."""
    metric: Metric = "cosine"
    targets: Annotated[list[TargetFiles], BeforeValidator(_sources)] = Field(min_length=1)
    payload_schema: dict[str, str] = {}
    """Types of payload columns."""
    query_bank: _Files = Field(min_length=1)
    """Files, folders or patterns."""
    publish: _Files | None = None
    """Databases whose rows get the offsets."""
    target_bank: _Files | None = None
    """Extra targets, likewise."""
    live_queries: str | None = None
    """A file; they choose the strength."""
    clicks: str | None = None
    """A table, or the folder of the query sample."""
    bank_of_targets: bool = False
    """Take a bank that holds targets."""
    target_prior: str | None = Field(default=None, min_length=1)
    """A payload column: how often each should be found."""
    fit_by: str | None = Field(default=None, min_length=1)
    """A payload column: groups."""
    encoder: str | None = None
    """A file that describes it."""
    correction: Annotated[CorrectionChoice, BeforeValidator(_short)] = CorrectionChoice()
    index: IndexChoice = IndexChoice()
    refit: RefitRules = RefitRules()
    gates: Gates = Gates()
    retention: Retention = Retention()
    executor: ExecutorChoice = ExecutorChoice()
    dims: SkipValidation[int | Literal["auto"] | None] = None
    """Fewer dimensions: a number or auto."""
    keep_full: bool = False
    """Whole vectors beside `dims`."""
    seed: int = Field(default=0, ge=0)
    """Of held-out queries and training."""
    skip_bad_rows: bool = False
    """Leave rows out that are no vectors."""

    @field_validator("collection")
    @classmethod
    def _named(cls, name: str) -> str:
        check_name(name)
        return name

    @field_validator("publish")
    @classmethod
    def _databases(cls, addresses: list[str] | None) -> list[str] | None:
        for address in addresses or ():
            databases(address).parse_address(address)
        return addresses

    @field_validator("payload_schema")
    @classmethod
    def _typed(cls, types: dict[str, str]) -> dict[str, str]:
        known_types(types)
        return types

    @model_validator(mode="after")
    def _combined(self) -> "ReindexJob":
        check_together(self.settings)
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """The settings by the names that `hubless.build` has for them."""
        chosen = {"correction": self.correction.name, "parameters": self.correction.parameters}
        return {**vars(self), **vars(self.index), **chosen, "index": self.index.type, "executor": self.executor.type}


def schema() -> dict[str, Any]:
    """Return the JSON schema of a job file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **ReindexJob.model_json_schema()}


def read_job(path: Path) -> ReindexJob:
    """Return the job of a file. Raises `StorageError`, or `InputError` that names the first mistake."""
    content = _read_yaml(path)
    if not isinstance(content, dict):
        raise InputError(path.name, "keys and values, such as version: 1", brief(content))
    version = content.get("version", JOB_VERSION)
    if version != JOB_VERSION or isinstance(version, bool):  # first, as of another one all else may be different
        raise InputError(f"{path.name}: version", f"{JOB_VERSION}, which this hubless reads", brief(version))
    try:
        return ReindexJob.model_validate(content)
    except ValidationError as error:
        raise _mistake(path, error.errors()[0]) from error


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        if twice := [key for number, key in enumerate(keys) if key in keys[:number]]:
            raise yaml.MarkedYAMLError(problem=f"key {twice[0]} stands twice", problem_mark=node.start_mark)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def _read_yaml(path: Path) -> Any:
    """Return the values of a job file. Raises `StorageError`, and `InputError` naming the line that is no YAML."""
    with storage_errors(path):
        if not path.is_file():
            raise StorageError(path, "there is no such job file")
        try:
            text = path.read_text("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(path.name, "text in UTF-8", one_line(error)) from error
    try:
        return yaml.load(text, _Loader)  # noqa: S506  # a safe one
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = path.name if mark is None else f"{path.name}, line {mark.line + 1}"
        raise InputError(where, "YAML", f"a mistake: {error.problem or error.context}") from error
    except RecursionError as error:
        raise InputError(path.name, "YAML of a few levels", "values inside values without end") from error
    except yaml.YAMLError as error:
        raise InputError(path.name, "YAML", one_line(error)) from error


def _mistake(path: Path, found: ErrorDetails) -> InputError:
    place = found["loc"]
    kind = found["type"]
    received = brief(found["input"])
    error = found.get("ctx", {}).get("error")
    if kind == "extra_forbidden":
        known = _known_keys(place[:-1])
        received = str(place[-1])
        close = get_close_matches(received, known, 1, 0.5)
        expected = f"{close[0]}, the nearest known key" if close else f"one of {', '.join(known)}"
    elif kind == "missing":
        expected = "a value"
        received = "none"
    elif isinstance(error, InputError):
        if not place:
            return error.about(f"{path.name}: {error.parameter}")
        expected = error.expected
    else:
        said = found["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        expected = _EXPECTED.get(kind.partition("_")[0], said)
    return InputError(f"{path.name}: {'.'.join(map(str, place)) or 'the job'}", expected, received)


def _known_keys(place: Sequence[str | int]) -> list[str]:
    model: type[BaseModel] = ReindexJob
    for key in place:
        if isinstance(key, str):
            model = _model_in(model.model_fields[key].annotation)
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(_model_in(each) for each in get_args(annotation) if each is not type(None))
