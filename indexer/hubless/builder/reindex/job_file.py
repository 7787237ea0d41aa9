"""The job file of `hubless reindex`: its models, which are its contract."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from hubless.builder.executors import check_executor
from hubless.builder.reindex.yaml_file import Document, Place, read_yaml
from hubless.errors import InputError
from hubless.kernels.devices import CPU
from hubless.knn.aims import RECALL
from hubless.store.catalog import check_name
from hubless.vectors.payload_text import TYPES

JOB_VERSION = 1

Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(_Part):
    """Files of targets."""

    path: str = Field(min_length=1, description="A file, a folder of files, or a pattern such as items/*.parquet.")
    ids: str | None = Field(default=None, description="File with the ids of a file that has none.")
    payload: str | None = Field(default=None, description="File with the payload of a file that has none.")


class Bank(_Part):
    """Example queries, or a part of them."""

    path: str = Field(min_length=1, description="A file, a folder of files, or a pattern.")
    share: float | None = Field(
        default=None, gt=0, le=1, description="Share of the whole bank. All banks have one, or none."
    )
    same: float | None = Field(
        default=None,
        gt=0,
        description="Queries with this share of answers in common count once; above 1, none do. By default only those "
        "of a query sample, as `hubless bank thin` does.",
    )


class Prior(_Part):
    """How often targets should be found: one of both."""

    column: str | None = Field(default=None, min_length=1, description="A payload column.")
    demand: bool = Field(default=False, description="As often as the queries of a query sample agree on.")

    @model_validator(mode="after")
    def _one_of_both(self) -> "Prior":
        if (self.column is None) != self.demand:
            raise ValueError("either `column`, or `demand: true`")
        return self


class CorrectionChoice(_Part):
    """How hubness is removed."""

    name: str = "auto"
    parameters: dict[str, Any] = {}
    tuned: str | None = Field(
        default=None, alias="from", description="File that `hubless tune` wrote, instead of a name."
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> "CorrectionChoice":
        if self.tuned is not None and self.model_fields_set - {"tuned"}:
            raise ValueError("either `from`, or `name` and `parameters`")
        return self


class IndexChoice(_Part):
    """The kind of index and its aims."""

    type: str = "auto"
    recall: float = RECALL
    memory: int | str | None = None
    latency: float | str | None = None
    engine: str = Field(
        default="faiss", description="Holds and searches the vectors: faiss, or an engine that is installed."
    )
    shard_targets: int | None = Field(
        default=None,
        description="The most targets in one file of the index; more get several. None: as many as take 4 GiB.",
    )
    grown: Share = Field(
        default=0.2,
        description="The largest share of targets that were added since the index was trained. Above: train anew.",
    )


class Refit(_Part):
    """When the correction is fitted anew."""

    frozen: Share = Field(default=0.2, description="The largest share of targets that came after the fit.")
    bank: Literal["changed", "never"] = Field(
        default="changed", description="Whether a changed bank asks for a new fit."
    )
    days: float | None = Field(default=None, gt=0, description="The oldest that a fit may be.")


class _Gate(_Part):
    @model_validator(mode="after")
    def _bounded(self) -> "_Gate":
        bounds = [name for name in type(self).model_fields if name.startswith(("min", "max"))]
        if all(getattr(self, name) is None for name in bounds):
            raise ValueError(f"a bound: {' or '.join(bounds)}")
        return self


class RowsGate(_Gate):
    """How many targets there are."""

    min: int | None = Field(default=None, ge=0)
    max: int | None = Field(default=None, ge=0)
    max_change: float | None = Field(
        default=None, ge=0, description="Change of their number, as a share of what it was."
    )


class RecallGate(_Gate):
    """Recall of the index on held-out queries."""

    min: Share | None = None


class HubnessGate(_Gate):
    """Hubness of the corrected answers."""

    max_skewness: float | None = Field(default=None, description="Skewness of N_10.")
    max_most: int | None = Field(default=None, ge=0, description="N_10 of the worst hub.")
    max_antihubs: Share | None = Field(default=None, description="Share of the targets that are never found.")


class CanariesGate(_Gate):
    """Share of the top 10 of canary queries that differ from the current version's."""

    max_changed: Share | None = None


class CoverageGate(_Gate):
    """Share of the targets that the query bank covers."""

    min: Share | None = None


class FirstRightGate(_Gate):
    """R@1 on labelled pairs."""

    queries: str = Field(description="File of queries.")
    relevant: str = Field(
        description="File with the id of the right target of each query, as ids of targets are given."
    )
    min: Share | None = None
    max_drop: Share | None = Field(default=None, description="Below the current version's.")


class Gates(_Part):
    """What a version must reach before it is published."""

    rows: RowsGate | None = None
    recall: RecallGate | None = None
    hubness: HubnessGate | None = None
    canaries: CanariesGate | None = None
    coverage: CoverageGate | None = None
    r_at_1: FirstRightGate | None = None

    @field_validator("*", mode="before")
    @classmethod
    def _given(cls, gate: Any) -> Any:
        if gate is None:  # a key with nothing after it
            raise ValueError("a bound, or no such key")
        return gate


class Retention(_Part):
    """Which versions are kept once a new one is published. The current one always is."""

    versions: int | None = Field(default=None, ge=1, description="The newest so many.")
    days: float | None = Field(default=None, gt=0, description="Those made in the last so many days.")


class Executor(_Part):
    """Where the work is done."""

    type: str = Field(
        default="local",
        description="Makes the passes over all targets: local, processes, processes:NUMBER, ray or ray://HOST:PORT.",
    )
    device: str = Field(default="cpu", description="Computes offsets: cpu, or with torch cuda, cuda:1 or torch:NAME.")

    @field_validator("type")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            return check_executor(name, CPU)
        except InputError as error:
            raise ValueError(error.expected) from error


def _listed(given: Any) -> Any:
    """A single path or a single part stands for a list of one."""
    entries = given if isinstance(given, list) else [given]
    return [{"path": each} if isinstance(each, str) else each for each in entries]


def _column(given: Any) -> Any:
    """A text stands for the column of that name."""
    return {"column": given} if isinstance(given, str) else given


class Job(_Part):
    """What a collection is made of. Paths are seen from the folder of the file."""

    version: Literal[1] = Field(description="Of this format.")
    catalog: str | None = Field(
        default=None, min_length=1, description="Folder of the collections, unless the command names it."
    )
    collection: str
    metric: Literal["cosine", "dot"] = "cosine"
    targets: Annotated[list[Source], BeforeValidator(_listed)] = Field(min_length=1)
    payload_schema: dict[str, str] = Field(default={}, description="Types of payload columns.")
    query_bank: Annotated[list[Bank], BeforeValidator(_listed)] = Field(min_length=1)
    target_bank: str | None = None
    live_queries: str | None = Field(
        default=None, description="About 200 queries that people asked: they choose the strength."
    )
    bank_of_targets: bool = False
    target_prior: Annotated[Prior | None, BeforeValidator(_column)] = None
    encoder: str | None = None
    correction: CorrectionChoice = CorrectionChoice()
    index: IndexChoice = IndexChoice()
    refit: Refit = Refit()
    gates: Gates = Gates()
    retention: Retention = Retention()
    executor: Executor = Executor()
    seed: int = Field(default=0, ge=0)
    projection: Literal["pca", "umap"] = Field(default="pca", description="Of the map in the console.")

    @field_validator("collection")
    @classmethod
    def _named(cls, name: str) -> str:
        try:
            check_name(name)
        except InputError as error:
            raise ValueError(error.expected) from error
        return name

    @field_validator("query_bank")
    @classmethod
    def _whole(cls, banks: list[Bank]) -> list[Bank]:
        shares = [bank.share for bank in banks if bank.share is not None]
        if shares and (len(shares) < len(banks) or abs(sum(shares) - 1) > 1e-6):
            raise ValueError("a share of each bank, together 1, or of none")
        return banks

    @field_validator("payload_schema")
    @classmethod
    def _typed(cls, types: dict[str, str]) -> dict[str, str]:
        if unknown := [f"{column}: {kind}" for column, kind in types.items() if kind not in TYPES]:
            raise ValueError(f"types that are one of {', '.join(TYPES)}, and not {unknown[0]}")
        return types


def schema() -> dict[str, Any]:
    """Return the JSON schema of a job file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Job.model_json_schema()}


def read_job(path: Path) -> Job:
    """Return the job of a file.

    Raises
    ------
    StorageError
        if there is no such file.
    InputError
        naming the line and the key that is wrong, and for an unknown key the nearest known one.
    """
    document = read_yaml(path)
    if not isinstance(document.content, dict):
        raise InputError(path.name, "keys and values, such as version: 1", _shown(document.content))
    _check_version(path, document)
    try:
        return Job.model_validate(document.content)
    except ValidationError as error:
        raise _wrong(path, document, error.errors()) from error


def _check_version(path: Path, document: Document) -> None:
    """Look at the version first: of another one all else may be different."""
    version = document.content.get("version", JOB_VERSION)
    if version != JOB_VERSION or isinstance(version, bool):
        where = f"{path.name}, line {_line(document, ('version',))}: version"
        raise InputError(where, f"{JOB_VERSION}, which this hubless reads", _shown(version))


def _wrong(path: Path, document: Document, errors: Iterable[ErrorDetails]) -> InputError:
    """What is wrong in the first line where something is."""
    first = min(errors, key=lambda each: _line(document, each["loc"]))
    place, kind = first["loc"], first["type"]
    where = f"{path.name}, line {_line(document, place)}: {'.'.join(map(str, place)) or 'the job'}"
    received = _shown(first["input"])
    if kind == "extra_forbidden":
        known = _known(place[:-1])
        close = get_close_matches(str(place[-1]), known, 1, 0.5)
        expected = f"{close[0]}, the nearest known key" if close else f"one of {', '.join(known)}"
        if place == ("schedule",):  # a key of hubless 0.2.0, which did nothing
            expected = "no schedule, as cron or Kubernetes starts the job"
        received = str(place[-1])
    elif kind == "missing":
        expected, received = "a value", "none"
    else:
        expected = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return InputError(where, expected, received)


def _line(document: Document, place: Place) -> int:
    """The line of a place, or of what it would be in."""
    for length in range(len(place), -1, -1):
        if place[:length] in document.lines:
            return document.lines[place[:length]]
    return 1


def _known(place: Place) -> list[str]:
    """The keys that may stand at a place."""
    model: type[BaseModel] = Job
    for key in place:
        if isinstance(key, str):
            model = _model_in(model.model_fields[key].annotation)
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(_model_in(each) for each in get_args(annotation) if each is not type(None))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
