import pytest

from hubless.builder.reindex.job_file import read_job
from hubless.errors import InputError, StorageError

JOB = """\
version: 1
collection: photos
targets: items/*.parquet
query_bank: [a.npy, b.npy]
gates:
  rows: {min: 10}
  recall:
    min: 0.9
"""


@pytest.fixture
def read(tmp_path):
    def reading(text):
        path = tmp_path / "job.yaml"
        path.write_text(text)
        return read_job(path)

    return reading


def test_job_is_read_with_defaults_and_short_forms(read):
    job = read(JOB)
    assert [source.path for source in job.targets] == ["items/*.parquet"]
    assert job.query_bank == ["a.npy", "b.npy"]
    assert read(JOB.replace("[a.npy, b.npy]", "a.npy")).query_bank == ["a.npy"]
    assert (job.metric, job.correction.name, job.gates.recall.min) == ("cosine", "auto", 0.9)
    assert read(JOB.replace("items/*.parquet", "[a.npz, {path: b.npy, ids: b.txt}]")).targets[1].ids == "b.txt"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("recall:", "recal:", "gates.recal: expected recall, the nearest known key, got recal"),
        ("[a.npy, b.npy]", "{path: a.npy}", "query_bank.0: expected a valid string"),
        ("collection:", "xyz:", "collection: expected a value, got none"),
        ("gates:", "schedule: daily\ngates:", "schedule: expected "),
        ("gates:", "quux: 1\ngates:", "quux: expected one of version, catalog, collection"),
        ("min: 0.9", "", "gates.recall: expected a bound, or no such key, got None"),
        ("{min: 10}", "{}", "gates.rows: expected a bound: min or max or max_change or max_gone, got {}"),
        ("{min: 10}", "{min: null}", "gates.rows: expected a bound"),
        ("min: 0.9", "min: high", "gates.recall.min: expected a valid number"),
        ("min: 0.9", "min: 1.5", "gates.recall.min: expected less than or equal to 1, got 1.5"),
        ("version: 1", "version: 2", "version: expected 1, which this hubless reads, got 2"),
        ("version: 1", "version: true", "version: expected 1"),
        ("version: 1\n", "", "version: expected a value"),
        ("photos", "a b", "collection: expected 1 to 64 letters"),
        ("gates:", "payload_schema: {zip: text}\ngates:", "payload_schema: expected types that are one of"),
        ("gates:", "correction: {from: a.json, name: nnn}\ngates:", "correction: expected either `from`"),
        ("gates:", "seed: 1\nseed: 2\ngates:", "expected YAML, got a mistake: key seed stands twice"),
        ("gates:", "seed: [\ngates:", "expected YAML, got a mistake"),
        ("gates:", "executor: {type: dask}\ngates:", "executor.type: expected local, ray, or ray://HOST:PORT"),
        ("[", "", ""),
    ],
)
def test_mistake_is_named_with_its_place_and_what_was_expected(read, before, after, told):
    with pytest.raises(InputError) as caught:
        read(JOB.replace(before, after, 1) if told else "&a [*a]")
    assert told in str(caught.value)
    assert str(caught.value).startswith("job.yaml")


@pytest.mark.parametrize("text", ["", "[]", "photos", "\x00", "a: !!python/object:os.system {}", "a: *b"])
def test_file_that_is_no_job_is_refused(read, text):
    with pytest.raises(InputError, match=r"job\.yaml"):
        read(text)


def test_missing_and_binary_files_are_refused(tmp_path):
    with pytest.raises(StorageError, match="there is no such job file"):
        read_job(tmp_path / "job.yaml")
    (tmp_path / "job.yaml").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InputError, match="text in UTF-8"):
        read_job(tmp_path / "job.yaml")
