"""The query bank of a body: JSON, plain bytes, or Arrow."""

from typing import NamedTuple

import numpy as np
from fastapi import Request

from hubless.corrections import correction as make_correction
from hubless.errors import InputError
from hubless.vectors.arrays import F32
from hubless_service.http import decoding
from hubless_service.http.arrow import ARROW, VECTOR, read_table, vectors_of
from hubless_service.http.bodies import BINARY, parse, refuse_url_fields, url_fields
from hubless_service.http.requests import BankOptions, BinaryBankRequest, PutBankRequest, read
from hubless_service.http.values import Subject

FEWEST = 2


class GivenBank(NamedTuple):
    """Queries (b, d) as they are compared, or texts; and what to do with them."""

    queries: F32
    texts: dict[int, str]
    options: BankOptions


def read_bank(request: Request, kind: str, body: bytes, subject: Subject) -> GivenBank:
    """The query bank of a request. SentBeside a body that is not JSON the other fields stand in the URL.

    Raises
    ------
    HttpProblem, InputError
        naming the query that is wrong.
    """
    given = _read(request, kind, body, subject)
    options, count = given.options, len(given.queries) or len(given.texts)
    most = subject.settings.max_bank_queries
    if not 1 <= count <= most:
        raise InputError("body", f"1 to {most} queries", str(count))
    if options.fit is not False and options.mode != "append" and count < FEWEST:
        raise InputError("vectors", f"at least {FEWEST} queries, better 100 and more", str(count))
    if options.correction is not None or options.parameters is not None:
        make_correction(options.correction or "auto", options.parameters)
    return given


def _read(request: Request, kind: str, body: bytes, subject: Subject) -> GivenBank:
    if kind == BINARY:
        options = read(BinaryBankRequest, url_fields(request), subject)
        return GivenBank(decoding.from_body(body, subject.collection), {}, options)
    if kind == ARROW:
        options, table = read(BinaryBankRequest, url_fields(request), subject), read_table(body)
        if table.column_names != [VECTOR]:
            raise InputError("body", f"one column, {VECTOR}", ", ".join(table.column_names) or "none")
        return GivenBank(vectors_of(table, subject.collection)[0], {}, options)
    refuse_url_fields(request)
    wanted = read(PutBankRequest, parse(body), subject)
    if (wanted.vectors is None) == (wanted.texts is None):
        raise InputError("vectors", "either vectors or texts", "both" if wanted.texts else "neither")
    rows = np.concatenate(wanted.vectors) if wanted.vectors else np.empty((0, subject.collection.dim), np.float32)
    return GivenBank(rows, dict(enumerate(wanted.texts or ())), wanted)
