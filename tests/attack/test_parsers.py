"""What is parsed by hand gets anything at all, and near misses: an error of ours, or a value that is right."""

import json
import shutil
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st
from support import filtering, small
from support.anything import EXAMPLES, SCALARS, VALUES, mutations
from support.files import write_npy

import hubless
from hubless.encoders import load_encoder
from hubless.errors import BundleError, HublessError, InputError, LogDamaged, StorageError
from hubless.filters import Filter, operators, parse_filter
from hubless.store import bundle
from hubless.store.aliases import read_aliases
from hubless.vectors.files import open_items
from hubless.vectors.ids import IdTable, id_array, parsed_id
from hubless.vectors.readers.columns import read_ids
from hubless_service.access.keys import Keys
from hubless_service.http import cursors, values
from hubless_service.http.problems import HttpProblem
from hubless_service.settings import Settings


def assert_one_line(error, without="\n", longest=2000):
    message = str(error)
    assert "\n" not in message
    assert without not in message
    assert len(message) < longest, message


TABLE = pa.table({name: pa.nulls(3, kind) for name, (kind, _, _) in filtering.COLUMNS.items()})
NAMES = st.sampled_from([*filtering.COLUMNS, "none"]) | SCALARS
OPERATORS = st.sampled_from([*operators.OPERATORS, "x"])
TEXTS = st.sampled_from(["2020-02-30", "2020-01-01T00:00:00", "25:00", "1e400", "0x1", "-0", "9999-12-31T23:59:60Z"])
OPERANDS = VALUES | TEXTS | st.lists(SCALARS | TEXTS, max_size=3)
CONDITIONS = st.builds(lambda name, tests: {"field": name, **tests}, NAMES, st.dictionaries(OPERATORS, OPERANDS))
FILTERS = st.recursive(
    CONDITIONS | VALUES,
    lambda inner: st.dictionaries(st.sampled_from(["and", "or", "not", "field"]), inner | st.lists(inner, max_size=3)),
    max_leaves=6,
)


@EXAMPLES
def test_filters(fuzzed):
    def parse(document):
        try:
            found = parse_filter(document, TABLE.schema)
        except InputError as error:
            assert_one_line(error)
            return
        assert isinstance(found, Filter)
        for batch in TABLE.to_batches():
            assert found.mask(batch).null_count == 0

    fuzzed(FILTERS, parse)


@EXAMPLES
def test_cursors(fuzzed, catalog):
    collection = hubless.open(catalog, "words")
    right = cursors.write_cursor(collection, 5, None)
    member = st.sampled_from(json.loads(urlsafe_b64decode(right)))
    lists = st.lists(member | SCALARS, max_size=4).map(lambda told: json.dumps(told, default=str))
    texts = st.text() | lists.map(lambda text: urlsafe_b64encode(text.encode()).decode())
    changed = mutations(right.encode()).map(lambda content: content.decode("latin-1"))

    def read(text):
        with suppress(InputError, HttpProblem):
            assert 0 <= cursors.read_cursor(text, None).row(collection) <= collection.count

    assert cursors.read_cursor(right, None).row(collection) == 5
    fuzzed(texts | changed, read)


@EXAMPLES
def test_base64_vectors(fuzzed):
    right = b64encode(np.arange(6, dtype="<f4").tobytes())

    def read(text):
        try:
            found = values.vector_of_base64(text)
        except InputError:
            return
        assert b64encode(found.tobytes()).decode() == text

    changed = mutations(right).map(lambda content: content.decode("latin-1"))
    exact = st.binary(max_size=40).map(lambda content: b64encode(content).decode())
    fuzzed(st.text() | changed | exact, read)


@EXAMPLES
def test_ids(fuzzed):
    numbers, words = IdTable.of(pa.array([1, -5, 2**63 - 1])), IdTable.of(pa.array(["", "a", "1"], pa.large_string()))

    def read(values):
        listed = values if isinstance(values, list) else [values]
        try:
            found = id_array(listed, "ids")
            assert found.null_count == 0
            assert len(found) == len(listed)
        except InputError:
            pass
        for value in listed:
            for table, kind in ((numbers, "int64"), (words, "string")):
                try:
                    row = table.row(parsed_id(value, kind) if isinstance(value, str) else value)
                except HublessError:
                    continue
                assert str(table.ids(np.array([row]))[0]) == str(value)

    digits = st.text("0123456789-+_ ٣e.", max_size=25) | st.integers().map(str)
    fuzzed(st.lists(SCALARS | digits, max_size=5) | VALUES, read)


def fields_of(content, path=()):
    """The places of all values in a JSON document."""
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for name, value in inside:
        yield (*path, name)
        yield from fields_of(value, (*path, name))


def replaced(content, path, value):
    """A copy of a JSON document with another value in one place."""
    copy = json.loads(json.dumps(content))
    place = copy
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return copy


def changed_json(plain):
    """The bytes of a JSON document with another value in one place, or of one that was damaged."""
    edits = st.tuples(st.sampled_from(list(fields_of(plain))), VALUES)
    changed = edits.map(lambda edit: json.dumps(replaced(plain, *edit), default=str).encode())
    return changed | mutations(json.dumps(plain).encode())


def asked(catalog):
    """A collection that was opened, checked and searched."""
    opened = hubless.open(catalog, "photos")
    opened.check_canaries()
    opened.query(small.query_bank()[:2])
    return opened


@EXAMPLES
def test_manifests(fuzzed, tmp_path):
    path = small.folder(tmp_path, small.build_full(tmp_path, correction="csls"))
    plain, whole = small.read_plain(path), (path / bundle.MANIFEST).read_bytes()
    kinds = ["flat", "hnsw", "fastscan", "flat_fp16"]
    near = st.sampled_from(["../../x", "", *kinds, "csls", "int64", "string", 0, -1, 2**63, 10**400])
    edits = st.tuples(st.sampled_from(list(fields_of(plain))), VALUES | near)

    def read(change):
        if isinstance(change, bytes):
            (path / bundle.MANIFEST).write_bytes(change)
        else:
            small.write_sealed(path, replaced(plain, *change))
        try:
            asked(tmp_path)
        except (BundleError, LogDamaged) as error:
            assert_one_line(error)

    fuzzed(edits | mutations(whole), read)


@EXAMPLES
def test_alias_files(fuzzed, tmp_path):
    small.build(tmp_path)
    hubless.Catalog(tmp_path).set_alias("pictures", "photos")
    file = tmp_path / ".aliases.json"

    def read(content):
        file.write_bytes(content)
        try:
            read_aliases(tmp_path)
            hubless.Catalog(tmp_path).resolve("pictures")
        except StorageError as error:
            assert_one_line(error)

    fuzzed(changed_json(json.loads(file.read_bytes())), read)


@EXAMPLES
def test_keys_files(fuzzed, tmp_path, catalog):
    file = tmp_path / "keys.json"
    plain = {"keys": [{"key": "a-secret-of-somebody", "role": "read", "collections": ["words"]}]}

    def read(content):
        file.write_bytes(content)
        try:
            keys = Keys(Settings(catalog=catalog, keys_file=file))
        except HublessError as error:
            assert_one_line(error, without="a-secret")
        else:
            assert not keys.access(b"")

    fuzzed(changed_json(plain), read)


@EXAMPLES
def test_encoder_descriptions(fuzzed, tmp_path):
    small.encoder().save(tmp_path)
    plain = json.loads((tmp_path / "encoder.json").read_text())
    endpoint = {"type": "openai", "url": "http://127.0.0.1:1/v1/embeddings", "model": "m", "dim": small.DIM}

    def read(content):
        for place in (tmp_path, tmp_path / "described.json", tmp_path / "described.toml"):
            (place / "encoder.json" if place.is_dir() else place).write_bytes(content)
            try:
                load_encoder(place, small.DIM)
            except HublessError as error:
                assert_one_line(error)

    fuzzed(changed_json(plain) | changed_json(endpoint), read)


@EXAMPLES
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_payload_files(fuzzed, tmp_path, suffix):
    path = tmp_path / f"payload{suffix}"
    table = pa.table({"a": [1, 2, 3], "b": ["x", "[1]", None], "c": ["2020-01-01", "2021-01-01", ""]})
    if suffix == ".parquet":
        pq.write_table(table, path)
    elif suffix == ".csv":
        path.write_text("a,b,c\n1,x,2020-01-01\n2,[1],2021-01-01\n3,,\n")
    else:
        path.write_text("\n".join(json.dumps(row) for row in table.to_pylist()))
    cells = st.lists(SCALARS | TEXTS | VALUES.map(lambda value: json.dumps(value, default=str)), min_size=1, max_size=5)

    def lines(values):
        if suffix == ".csv":
            return b"a\n" + b"\n".join(str(value).encode("utf-8", "surrogatepass") for value in values)
        return b"\n".join(json.dumps({"a": value}, default=str).encode() for value in values)

    whole = path.read_bytes()
    content = mutations(whole) if suffix == ".parquet" else mutations(whole) | cells.map(lines)

    def read(content):
        path.write_bytes(content)
        for types in (None, {"b": "string", "a": "list<int64>"}):
            try:
                hubless.Index("none", "dot").fit(
                    small.query_bank(), small.targets()[:3], payload=path, payload_schema=types
                )
            except HublessError as error:
                assert_one_line(error, longest=100_000)  # names of columns may be long

    fuzzed(content, read)


LISTS = pa.FixedSizeListArray.from_arrays(pa.array(small.targets()[:9].ravel()), small.DIM)
FILES = {
    "targets.npy": lambda path: write_npy(path, small.targets()[:9]),
    "targets.npz": lambda path: np.savez(path, vectors=small.targets()[:9], ids=np.arange(9)),
    "targets.parquet": lambda path: pq.write_table(
        pa.table({"vector": LISTS, "id": list(range(9)), "text": ["x"] * 9}), path
    ),
    "ids.npy": lambda path: write_npy(path, np.arange(9)),
    "ids.txt": lambda path: path.write_text("\n".join("abcdefgh")),
    "ids.parquet": lambda path: pq.write_table(pa.table({"id": list("abcdefgh")}), path),
}


@EXAMPLES
@pytest.mark.parametrize("name", FILES)
def test_files_of_vectors_and_ids(fuzzed, tmp_path, name):
    path = tmp_path / name
    FILES[name](path)

    def read(content):
        path.write_bytes(content)
        try:
            if name.startswith("ids"):
                assert read_ids(path).null_count == 0
                return
            for block in open_items(path, "targets").vectors.blocks(4):
                assert np.isfinite(block).all()
        except HublessError as error:
            assert_one_line(error)

    fuzzed(mutations(path.read_bytes()), read)


@EXAMPLES
@pytest.mark.parametrize("name", [bundle.IDS, bundle.PAYLOAD])
def test_arrow_files_of_a_version(fuzzed, tmp_path, name):
    path = small.folder(tmp_path, small.build_full(tmp_path))
    file = small.path_of(path, name)
    whole = file.read_bytes()
    manifest = shutil.copy(path / bundle.MANIFEST, tmp_path / "manifest.json")

    def read(content):
        file.write_bytes(content)
        shutil.copy(manifest, path / bundle.MANIFEST)
        small.reseal(path)
        try:
            asked(tmp_path).payload(np.arange(small.COUNT))
        except HublessError as error:
            assert_one_line(error)

    fuzzed(mutations(whole), read)
