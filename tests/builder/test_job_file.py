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


def test_missing_and_binary_files_are_refused(tmp_path):
    with pytest.raises(StorageError, match="there is no such job file"):
        read_job(tmp_path / "job.yaml")
    (tmp_path / "job.yaml").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InputError, match="text in UTF-8"):
        read_job(tmp_path / "job.yaml")
