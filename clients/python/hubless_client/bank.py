"""The query bank that the correction of a collection is fitted on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from hubless_client.bodies import in_bytes, in_json, listed
from hubless_client.call import Call, Content, Timeout
from hubless_client.errors import CannotSend
from hubless_client.paths import in_collection
from hubless_client.records import Record
from hubless_client.sending import ClientMethod
from hubless_client.values import as_json, given
from hubless_client.vectors import MatrixLike, pack_many


@dataclass(frozen=True, slots=True, kw_only=True)
class BankInfo(Record):
    """The query bank of the version that is served, and what becomes of one that was put.

    Attributes
    ----------
    queries : how many queries the correction was fitted on; 0 for none
    stored : how many of them `bank_query` can send
    coverage : share of the targets that they cover; None if not known
    correction : that was fitted
    fit_by : the payload column of the groups that it was fitted by; None for one fit for all targets
    held_back : ids of targets whose offset stood alone, and is held back: queries may have been made to bury them
    decided : the default strength, its `value`, who decided it (`by`), `notes` in sentences, and what `labels` say:
        `said` ("harm", "no harm" or "too few"), and R@1 `raw` and `corrected`; None by older servers
    frozen_share : share of the targets that came after the fit
    waiting : a bank that was put, and that no version has yet: its `queries`, its `mode`, whether it is fitted next
        (`fit`), the live queries that it waits for (`sampled`), and how many count so far, of how many clients and of
        how many that are needed (`counted`: `queries`, `clients`, `clients_needed`); None for none
    work : the last work of the service on the collection: its `state`, `step`, `problem` and more; None for none
    """

    queries: int
    stored: int
    coverage: float | None
    correction: str
    fit_by: str | None = None
    held_back: Sequence[int | str] = ()
    decided: Mapping[str, Any] | None = None
    frozen_share: float
    waiting: Mapping[str, Any] | None
    work: Mapping[str, Any] | None
    collection: str
    version: str

    @property
    def fitted(self) -> bool:
        """True if nothing waits to be fitted."""
        return self.waiting is None


class BankMethods:
    """Query banks. The client does not repeat a put by itself."""

    @ClientMethod
    def put_bank(
        self,
        collection: str,
        vectors: MatrixLike | None = None,
        *,
        texts: Iterable[str] | None = None,
        payload: Iterable[str] | None = None,
        sampled: int | None = None,
        trusted: Iterable[str] | None = None,
        relevant: Iterable[Any] | None = None,
        mode: str | None = None,
        fit: bool | None = None,
        correction: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        fit_by: str | None = None,
        groups: Iterable[Any] | None = None,
        timeout_ms: int | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[BankInfo]:
        """Fit the correction on a query bank, over all targets that there are. Needs a key of role admin.

        If it takes longer than `timeout_ms`, the answer has a bank that is `waiting`; `bank` tells how far it is.

        Parameters
        ----------
        vectors : (b, d) example queries, as the queries that people ask; 100 or more
        texts : (b,) instead of vectors, for collections that have an encoder
        payload : instead of vectors, names of payload columns such as a title: each text is encoded, and is a query
        sampled : instead of vectors, a number of live queries that the service waits for; see its query sample. One
            client counts for a tenth at most, so ten clients or more must ask
        trusted : with `sampled`, clients that ask for many people, such as the key of an app, and count without limit:
            names of keys, or labels that `hubless bank show` lists
        relevant : (b,) the id of the right target of each query, a list of ids, empty if none is right, or None where
            nobody knows: a list, an array or a column. They make confidence a probability; 20 at least, better 100
        mode : "replace", the default; "append" adds to the bank that there is
        fit : False keeps the queries until more come
        correction : to fit; by default that of the collection, and "auto" if it is "none"
        parameters : of the correction
        fit_by : the payload column that names the group of each target, such as "tenant", to correct each group by its
            own queries; by default that of the collection, "" for one fit for all
        groups : (b,) with `fit_by`, the group of each query, as that column has it
        timeout_ms : to wait for the fit; it goes on after that
        request_id, timeout : as in every call
        """
        ways = {"vectors": vectors, "texts": texts, "payload": payload, "sampled": sampled}
        chosen = [name for name, value in ways.items() if value is not None]
        if len(chosen) != 1:
            raise CannotSend(f"put_bank: expected one of {', '.join(ways)}, got {' and '.join(chosen) or 'none'}")
        options = {
            "mode": mode,
            "fit": fit,
            "correction": correction,
            "parameters": parameters,
            "timeout_ms": timeout_ms,
            "fit_by": fit_by,
            "trusted": None if trusted is None else listed("trusted", trusted),
            "relevant": None if relevant is None else _labels("relevant", relevant),
            "groups": None if groups is None else _labels("groups", groups),
        }
        content = _content(chosen[0], ways[chosen[0]], given(options))
        path = in_collection(collection, "bank")
        # a second one would fit once more
        return Call("PUT", path, BankInfo.from_json, content, request_id=request_id, timeout=timeout, repeats=False)

    @ClientMethod
    def bank(self, collection: str, *, request_id: str | None = None, timeout: Timeout | None = None) -> Call[BankInfo]:
        """The query bank that the correction was fitted on, and how far the fit is of one that was put."""
        path = in_collection(collection, "bank")
        return Call("GET", path, BankInfo.from_json, request_id=request_id, timeout=timeout)


def _content(way: str, queries: Any, options: Mapping[str, Any]) -> Content:
    """Return the body of a bank: JSON, or plain bytes for vectors of which nothing is said one by one.

    Raises
    ------
    CannotSend : the queries are not what `way` takes
    """
    if way == "sampled":
        return in_json({way: queries, **options})
    if way != "vectors":
        return in_json({way: listed(way, queries), **options})
    packed = pack_many(queries)
    if options.keys() & {"relevant", "groups"}:
        return in_json({way: packed.in_base64(), **options})
    return in_bytes(packed.data, {"dim": packed.dim or 1} | {name: _in_url(value) for name, value in options.items()})


def _labels(name: str, entries: Iterable[Any]) -> list[Any]:
    return [_label(each) for each in listed(name, entries, "a list, an entry a query")]


def _label(entry: Any) -> Any:
    """An entry of labels; None in place of what pandas has where nothing is known."""
    missing = type(entry).__name__ == "NAType" or (isinstance(entry, float) and isnan(entry))
    return None if missing else entry


def _in_url(value: Any) -> str:
    if isinstance(value, str):
        return value
    return as_json(value).decode()
