"""A value of payload comes back equal, or is refused by its row, by each way into a column that has a type."""

from datetime import datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from support import jobs

import hubless
from hubless.errors import InputError
from hubless_service.http.arrow import put_of

IDS = jobs.names(0, 2)
VECTORS = np.array([jobs.vector(each) for each in IDS])
S, US, NS = map(pa.timestamp, ("s", "us", "ns"))
UTC = pa.timestamp("us", "UTC")
WHOLE, FLOAT, SINGLE, TEXT, TRUTH, DAY = pa.int64(), pa.float64(), pa.float32(), pa.string(), pa.bool_(), pa.date32()
PRICE, PAIR, ONE = pa.decimal128(5, 1), pa.struct([("a", WHOLE), ("b", WHOLE)]), pa.struct([("a", WHOLE)])
AT, MIDNIGHT = datetime(2020, 1, 1, 17, 45, 0, 5), datetime(2020, 1, 1)
REFUSED = [
    (DAY, US, AT),
    (S, US, AT),
    (US, NS, 1001),
    (UTC, US, AT),
    (US, UTC, AT),
    (UTC, DAY, AT.date()),
    (UTC, TEXT, "2020-01-01T17:45:00"),
    (US, WHOLE, 7),
    (pa.duration("us"), pa.duration("ns"), 1001),
    (pa.time32("s"), pa.time64("us"), time(1, 2, 3, 4)),
    (WHOLE, TEXT, "007"),
    (TEXT, WHOLE, 7),
    (TRUTH, WHOLE, 2),
    (WHOLE, TRUTH, True),
    (WHOLE, FLOAT, 1.5),
    (FLOAT, WHOLE, 2**53 + 1),
    (SINGLE, FLOAT, 1e300),
    (PRICE, FLOAT, 0.15),
    (pa.list_(WHOLE), pa.list_(FLOAT), [1.0, 1.5]),
    (ONE, PAIR, {"a": 1, "b": 2}),
]
KEPT = [
    (WHOLE, FLOAT, 7.0, 7),
    (FLOAT, WHOLE, 7, 7.0),
    (SINGLE, FLOAT, 0.1, float(np.float32(0.1))),
    (SINGLE, FLOAT, float("-inf"), float("-inf")),
    (US, DAY, MIDNIGHT.date(), MIDNIGHT),
    (DAY, US, MIDNIGHT, MIDNIGHT.date()),
    (US, NS, 5000, datetime(1970, 1, 1, 0, 0, 0, 5)),
    (pa.duration("us"), pa.duration("ns"), 5000, timedelta(microseconds=5)),
    (PRICE, FLOAT, 0.5, Decimal("0.5")),
    (TEXT, pa.dictionary(pa.int8(), TEXT), "a", "a"),
    (DAY, TEXT, "2020-01-01", MIDNIGHT.date()),
    (PAIR, ONE, {"a": 1}, {"a": 1, "b": None}),
    (WHOLE, pa.null(), None, None),
]


def fitted(kind):
    return hubless.Index("none", "dot").fit(VECTORS, VECTORS, ids=IDS, payload=pa.table({"c": pa.nulls(2, kind)}))


def by_add(folder, kind, given):
    index = fitted(kind)
    index.add(VECTORS, ids=jobs.names(2, 4), payload=pa.table({"c": given}))
    return index.payload([3])[0]["c"]


def by_arrow(folder, kind, given):
    table = pa.table({"id": IDS, "vector": list(VECTORS), "c": given})
    return put_of(table, fitted(kind)).payload["c"][1].as_py()


def by_job(folder, kind, given):
    jobs.write(folder, correction={"name": "none"})
    for values in (pa.nulls(2, kind), given):
        jobs.write_targets(folder / "items/a.parquet", IDS, c=values)
        jobs.run(folder)
    opened = hubless.open(folder / "catalog", jobs.NAME)
    return opened.payload([opened.row(IDS[1])])[0]["c"]


WAYS = pytest.mark.parametrize("way", [by_add, by_arrow, by_job])


@WAYS
@pytest.mark.parametrize(("kind", "given", "value"), REFUSED, ids=str)
def test_value_that_a_column_cannot_hold_is_refused_by_its_row(tmp_path, way, kind, given, value):
    with pytest.raises(InputError, match=r"^(payload, column c, row 1|c\[1\]): expected values of type"):
        way(tmp_path, kind, pa.array([None, value], given))


@WAYS
@pytest.mark.parametrize(("kind", "given", "value", "held"), KEPT, ids=str)
def test_value_that_a_column_can_hold_comes_back_equal(tmp_path, way, kind, given, value, held):
    assert way(tmp_path, kind, pa.array([None, value], given)) == held


def test_column_takes_another_type_where_a_job_is_run_in_full(tmp_path):
    jobs.write(tmp_path)
    for price in (range(60), np.arange(60) + 0.5):
        jobs.write_targets(tmp_path / "items/a.parquet", jobs.names(0, 60), price=price)
        (tmp_path / "items/b.parquet").unlink(missing_ok=True)
        done = jobs.run(tmp_path, full=True)
    assert done.published
    assert hubless.open(tmp_path / "catalog", jobs.NAME).payload([7]) == [{"price": 7.5}]
    jobs.write_targets(tmp_path / "items/a.parquet", jobs.names(0, 60), price=["x"] * 60)
    with pytest.raises(InputError, match=r"column price, row 0: .* type double, .* full takes .* got 'x'$"):
        jobs.run(tmp_path)
