"""The keywords that the makers of an index share: each is declared and described here, once.

A record fills the fields of its names in `Recipe` and `Inputs`, which have the defaults.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import cleandoc, signature
from pathlib import Path
from typing import Any, TypedDict, TypeVar, cast

from hubless.builder.inputs.clicks import ClicksLike
from hubless.corrections.roles import NumbersLike
from hubless.encoders import Encoder
from hubless.measures.labels import Labels
from hubless.vectors.files import Vectors
from hubless.vectors.ids import Ids
from hubless.vectors.payload import PayloadLike, PayloadTypes

Function = TypeVar("Function", bound=Callable[..., Any])


class IndexSettings(TypedDict, total=False):
    """Settings of an index and its correction.

    Attributes
    ----------
    parameters : of the correction
    index : a name in `hubless.knn.INDEXES`, or one of the engine. "auto", the default, chooses by size and the next
        three
    recall : share of the exact top 10 that the index has to find, with the cheapest search parameters that do; by
        default 0.99
    memory : the most that the index may take: bytes, or a text such as "4GB". None sets no limit. For faiss only
    latency : the most that a query may take on one thread: milliseconds, or such as "2ms". None for any. For faiss only
    dims : reduce all vectors to so many dimensions, of a basis that is fitted on bank and targets and stored in the
        version; "auto" for the fewest that keep the ranking, by held-out bank queries. None keeps all. Queries and
        writes have all dimensions as before
    keep_full : only the index has `dims` dimensions. It finds candidates, and whole vectors beside it rank them, with
        offsets that are fitted on whole vectors. For faiss only
    seed : for the choice of held-out bank queries and the training of the index; by default 0
    """

    parameters: Mapping[str, Any] | None
    index: str
    recall: float
    memory: int | str | None
    latency: float | str | None
    dims: int | str | None
    keep_full: bool
    seed: int


class EngineSettings(TypedDict, total=False):
    """Settings of the engine that holds the vectors, and of the passes over them.

    Attributes
    ----------
    engine : holds and searches the vectors: "faiss", or one that is installed, such as "milvus" (see its README.md); by
        default "faiss"
    shard_targets : the most targets in one file of the index, from 1,000. A collection of more gets several, which are
        searched together; so a build needs memory for one of them. None for files of at most 4 GiB
    executor : makes the passes over all targets: "local", the default; "ray" or "ray://HOST:PORT", a cluster that
        sees the catalog
    """

    engine: str
    shard_targets: int | None
    executor: str


class InputSettings(TypedDict, total=False):
    """Columns of the targets, and banks of those who look for them.

    Attributes
    ----------
    ids : (n,) unique strings or 64-bit integers, a file of them, or the name of the column that has them; by default of
        the targets' file, the payload's `id`, or row numbers
    payload : (n,) rows; by default the other columns in the file of the targets. With a column `id` each row goes to
        the target of its id: the same ids as those of the targets, in any order
    payload_schema : types of columns by name, such as {"zip": "string"}; see docs/cli.md for names and guesses
    encoder : encodes text queries: a folder, a file that describes one (.json or .toml), or an encoder
    target_bank : (g, d) extra targets, for the corrections that use one
    live_queries : (m, d) queries that people asked, about 200, without labels. They choose the default strength of the
        version: the one at which their answers are spread most evenly. Without them it is 1
    target_prior : (n,) how often each target should be found, such as counts of clicks, in any unit and above 0; or the
        name of a payload column, or a file; a table with `id` is joined by it. Popular targets are then not punished
        for being found often. For `sn`, `dbsn` and `auto` (see docs/methods.md). By default all targets should be found
        equally often
    offsets : (n,) your own, for correction "offsets", in units of similarity: positive ones lower the score. A payload
        column, in which later targets bring theirs; a file in the order of the targets; or a table with their ids. Also
        given as correction "offsets:FILE". Targets without one count as the median. See docs/methods.md, "Your own"
    fit_by : a payload column, such as "tenant", that names the group of each target. Each group is corrected by its own
        queries, so the query bank has this column, too; a group without queries is not corrected. By default one fit
        corrects all targets. See docs/methods.md, "Tenants"
    relevant : for each bank query the id of its right target, or a list of ids: docs/cli.md, "Labels". A fifth of the
        labelled queries, at least 20, or up to 100 that are a fifth of the bank, is left out of it. They make
        confidence a probability; if they say that the correction does harm, the strength is 0
    clicks : which targets people chose for their queries. A table with `query`, the id or row of a bank query or its
        vector, and `target`, an id; perhaps `count`, `position`, from 1 on, and `client`. Or the column of the bank's
        table that has the ids, or a list of ids for each bank query. Held-out clicks choose the target prior that the
        others make, no prior, or no correction: strength 0. See docs/methods.md, "Clicks"
    skip_bad_rows : leave out rows with NaN, infinity or nulls, and zeros under cosine, with all that belongs to them,
        and warn of them; they are refused otherwise
    """

    ids: Ids | None
    payload: PayloadLike | None
    payload_schema: PayloadTypes | None
    encoder: str | Path | Encoder | None
    target_bank: Vectors | None
    live_queries: Vectors | None
    target_prior: NumbersLike | None
    offsets: NumbersLike | None
    fit_by: str | None
    relevant: Labels | None
    clicks: ClicksLike | None
    skip_bad_rows: bool


class BuildSettings(IndexSettings, EngineSettings, InputSettings, total=False):
    """All that a build can be told of."""


def with_keywords(*records: type) -> Callable[[Function], Function]:
    """Let a function take the keywords of records: it refuses others, and its docstring ends with theirs.

    The function raises TypeError for a keyword that it does not know, before any work.
    """

    def taken(function: Function) -> Function:
        own = signature(function).parameters.values()
        known = [each.name for each in own if each.kind is not each.VAR_KEYWORD]
        known += [name for each in records for name in each.__annotations__]

        @wraps(function)
        def checked(*given: Any, **named: Any) -> Any:
            for name in named.keys() - known:
                near = get_close_matches(name, known, 1)
                hint = f". Did you mean {near[0]!r}?" if near else ""
                raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {name!r}{hint}")
            return function(*given, **named)

        parameters = [cleandoc(each.__doc__ or "").partition("----------\n")[2] for each in records]
        checked.__doc__ = "\n".join([cleandoc(function.__doc__ or ""), *parameters])
        return cast(Function, checked)

    return taken


def of_record(record: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the settings that a record names."""
    return {name: settings[name] for name in record.__annotations__ if name in settings}
