import pytest
from support.refusals.calls import job

from hubless.errors import InputError, StorageError
from hubless.jobs.job_file import read_job


def test_job_is_read_with_defaults_and_short_forms(tmp_path):
    read = job(tmp_path)
    assert [source.path for source in read.targets] == ["items/*.parquet"]
    assert read.query_bank == ["a.npy", "b.npy"]
    assert (read.metric, read.correction.name, read.gates.recall.min) == ("cosine", "auto", 0.9)
    assert job(tmp_path, "[a.npy, b.npy]", "a.npy\ntarget_bank: a.npy").target_bank == read.query_bank[:1]
    assert job(tmp_path, "items/*.parquet", "[a.npz, {path: b.npy, ids: b.txt}]").targets[1].ids == "b.txt"
    for text, parameters in {"csls": {}, "is:temperature=.5": {"temperature": 0.5}}.items():
        chosen = job(tmp_path, "gates:", f"correction: {text}\ngates:").correction
        assert (chosen.name, chosen.parameters) == (text.partition(":")[0], parameters)


def test_missing_and_binary_files_are_refused(tmp_path):
    with pytest.raises(StorageError, match="there is no such job file"):
        read_job(tmp_path / "job.yaml")
    (tmp_path / "job.yaml").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InputError, match="text in UTF-8"):
        read_job(tmp_path / "job.yaml")
