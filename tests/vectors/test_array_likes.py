from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest
from support.array_likes import InBlocks
from support.refusals.vectors import CATEGORIES

import hubless
from hubless.errors import InputError
from hubless.vectors.arrays import as_vectors
from hubless.vectors.payload import as_payload
from hubless.vectors.sources import as_source, in_memory

ROWS = np.array([[1, 2, 3], [4, 5, 6.5]], np.float32)


class Tensor:
    """An array of another package: with NumPy's protocol, or with that of DLPack alone."""

    def __init__(self, array, protocol):
        self.array = array
        if protocol == "array":
            self.__class__ = type("WithArray", (Tensor,), {"__array__": lambda self, dtype=None, copy=None: self.array})

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def objects(*rows):
    """An array of objects, as `.values` of a column of pandas is."""
    array = np.empty(len(rows), object)
    array[:] = rows
    return array


def package(name):
    return pytest.importorskip(name, reason="needs packages of tables: make extras")


def polars_rows(kind, *size):
    pl = package("polars")
    return pl.Series(ROWS.tolist(), dtype=getattr(pl, kind)(pl.Float32, *size))


LISTS = pa.array(ROWS.tolist(), pa.list_(pa.float32()))
KINDS = {
    "list": ROWS.tolist(),
    "tuple": tuple(map(tuple, ROWS.tolist())),
    "float64": ROWS.astype(np.float64),
    "float16": ROWS.astype(np.float16),
    "objects of lists": objects(*ROWS.tolist()),
    "objects of arrays": objects(*ROWS),
    "objects of numbers": ROWS.astype(object),
    "masked, but nothing is": np.ma.array(ROWS, mask=False),
    "array protocol": Tensor(ROWS, "array"),
    "dask and zarr": InBlocks(ROWS),
    "dlpack": Tensor(ROWS, "dlpack"),
    "Arrow lists": LISTS,
    "Arrow lists of one size": pa.array(ROWS.tolist(), pa.list_(pa.float64(), 3)),
    "Arrow half": pa.FixedSizeListArray.from_arrays(pa.array(ROWS.astype(np.float16).ravel()), 3),
    "Arrow column": pa.table({"v": LISTS})["v"],
    "Arrow chunks": pa.chunked_array([LISTS[:1], LISTS[1:]]),
    "polars lists": lambda: polars_rows("List"),
    "polars arrays": lambda: polars_rows("Array", 3),
    "pandas": lambda: package("pandas").DataFrame(ROWS),
    "pandas column": lambda: package("pandas").Series(list(ROWS)),
    "pandas values": lambda: package("pandas").Series(list(ROWS)).values,
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def given(request):
    return request.param() if callable(request.param) else request.param


class TestKinds:
    def test_rows_are_read_as_they_are(self, given):
        np.testing.assert_array_equal(in_memory(as_source(given, "targets")), ROWS)


def test_tensor_of_torch_is_read_without_its_gradient_only():
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(as_vectors(torch.tensor(ROWS), "vector"), ROWS)
    with pytest.raises(InputError, match=r"^vector: expected an array that NumPy can read, got .*requires grad"):
        as_vectors(torch.tensor(ROWS, requires_grad=True), "vector")


PAYLOADS = {
    "list of dicts": [{"a": 1, "b": "x"}, {"a": 2, "b": None}],
    "dict of columns": {"a": [1, 2], "b": ["x", None]},
    "dict of arrays": {"a": np.array([1, 2]), "b": pa.array(["x", None])},
    "Arrow": pa.table({"a": [1, 2], "b": ["x", None]}),
    "Arrow batch": pa.record_batch({"a": [1, 2], "b": ["x", None]}),
    "pandas": lambda: package("pandas").DataFrame({"a": [1, 2], "b": ["x", None]}, index=[7, 5]),
    "polars": lambda: package("polars").DataFrame({"a": [1, 2], "b": ["x", None]}),
}


@pytest.mark.parametrize("given", PAYLOADS.values(), ids=PAYLOADS)
def test_payload_of_any_kind_is_the_same_rows(given):
    given = given() if callable(given) else given
    assert as_payload(given).to_table().to_pylist() == PAYLOADS["list of dicts"]


def test_categories_of_polars_are_payload_as_their_texts():
    made = hubless.Index(metric="cosine", correction="none").fit(ROWS, ROWS, payload=pa.table({"b": CATEGORIES}))
    assert [made.point(row).payload for row in range(2)] == [{"b": "x"}, {"b": None}]


@pytest.mark.parametrize("library", ["arrow", "pandas"])
def test_table_as_targets_brings_its_vectors_ids_and_payload_as_a_file_does(library):
    rows = np.random.default_rng(0).normal(size=(20, 8))
    given = pa.table({"id": [f"t{row}" for row in range(20)], "embedding": rows.tolist(), "title": ["x"] * 20})
    asked = np.random.default_rng(1).normal(size=(30, 8))
    bank = pa.table({"text": ["?"] * 30, "vector": asked.tolist()})
    if library == "pandas":
        pytest.importorskip("pandas")
        given, bank = given.to_pandas(), bank.to_pandas()
    index = hubless.Index(metric="cosine", correction="none").fit(bank, given)
    (hit,) = index.query(rows[3], limit=1, with_payload=True)[0]
    assert (hit.id, hit.payload) == ("t3", {"title": "x"})
    without = given[["id", "title"]] if library == "pandas" else given.select(["id", "title"])
    with pytest.raises(InputError, match="got columns id, title, none of them a list of floats"):
        hubless.Index(metric="cosine", correction="none").fit(bank, without)


FOREIGN = {
    "months": lambda pd: pd.period_range("2020-01", periods=3, freq="M"),
    "categories of months": lambda pd: pd.Categorical(pd.period_range("2020-01", periods=3, freq="M")),
    "intervals": lambda pd: pd.interval_range(0, 3),
    "complex": lambda pd: [1j] * 3,
    "sparse": lambda pd: pd.arrays.SparseArray([0, 1, 0]),
    "dates, then times": lambda pd: pd.Series([date(2020, 1, 1), datetime(2020, 1, 1, 17), None], dtype=object),
    "numbers, then true": lambda pd: pd.Series([1.5, True, None], dtype=object),
    "nanoseconds": lambda pd: pd.to_timedelta([1001, 0, 0], unit="ns"),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("given", [lambda frame: frame, lambda frame: {"c": frame["c"]}], ids=["frame", "columns"])
def test_what_only_pandas_means_is_refused(name, given):
    pd = pytest.importorskip("pandas")
    rows = np.ones((3, 2), np.float32)
    with pytest.raises(InputError, match=r"^payload"):
        hubless.Index("none", "dot").fit(rows, rows, payload=given(pd.DataFrame({"c": FOREIGN[name](pd)})))


def test_months_of_pandas_in_a_file_or_an_index_are_refused(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"n": range(3)}, index=FOREIGN["months"](pd).rename("c"))
    frame.reset_index().to_parquet(tmp_path / "c.parquet")
    for payload in (frame, tmp_path / "c.parquet"):
        with pytest.raises(InputError, match=r"^payload, column c: .* got pandas.period$"):
            as_payload(payload)


def test_frame_of_numbers_only_is_a_matrix():
    frame = pytest.importorskip("pandas").DataFrame(np.random.default_rng(0).normal(size=(20, 4)), columns=list("abcd"))
    assert hubless.Index(metric="cosine", correction="none").fit(-frame, frame).query(frame[:1], limit=1)[0][0].id == 0
