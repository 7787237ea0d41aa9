"""Files of logged answers, as search engines give them."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hubless.errors import InputError, StorageError
from hubless.search.scores.log_file import read_log
from hubless.search.scores.reading import read_lists

WANTED = [(["a", "b", "c"], [0.9, 0.5, 0.4]), (["c", "a"], [0.7, 0.2])]


def elastic(ids, scores):
    hits = [
        {"_index": "docs", "_id": each, "_score": score, "_source": {}} for each, score in zip(ids, scores, strict=True)
    ]
    total = {"value": len(ids), "relation": "eq"}
    return {"took": 3, "timed_out": False, "hits": {"total": total, "max_score": scores[0], "hits": hits}}


def qdrant(ids, scores):
    return [{"id": each, "version": 0, "score": score, "payload": {}} for each, score in zip(ids, scores, strict=True)]


def langchain(ids, scores, id_in="id"):
    made = [{"page_content": "text", "type": "Document", "metadata": {}} for _ in ids]
    for each, document in zip(ids, made, strict=True):
        (document if id_in == "id" else document["metadata"])["id"] = each
    return [[document, score] for document, score in zip(made, scores, strict=True)]


LOGS = {
    "hubless": [{"ids": ids, "scores": scores, "query": "q"} for ids, scores in WANTED],
    "Elasticsearch, OpenSearch: _search": [elastic(*each) for each in WANTED],
    "Elasticsearch, OpenSearch: _msearch": [
        {"took": 9, "responses": [*(elastic(*each) for each in WANTED), {"error": {"type": "x"}, "status": 400}]}
    ],
    "Qdrant": [{"result": {"points": qdrant(*each)}, "status": "ok", "time": 0.1} for each in WANTED],
    "Qdrant, search": [{"result": qdrant(*each), "status": "ok"} for each in WANTED],
    "Qdrant, search in batches": [{"result": [qdrant(*each) for each in WANTED], "status": "ok"}],
    "Qdrant, queries in batches": [{"result": [{"points": qdrant(*each)} for each in WANTED]}],
    "LangChain": [langchain(*each) for each in WANTED],
    "LangChain, metadata": [langchain(*each, id_in="metadata") for each in WANTED],
    "LangChain, dumpd": [
        [[{"lc": 1, "type": "constructor", "kwargs": document}, score] for document, score in langchain(*each)]
        for each in WANTED
    ],
}


def write(path, documents):
    path.write_text("".join(json.dumps(each) + "\n" for each in documents))
    return path


@pytest.mark.parametrize("kind", LOGS)
def test_a_log_of_each_kind_has_the_same_lists(kind, tmp_path):
    read = read_log(write(tmp_path / "log.jsonl", LOGS[kind]))
    assert read.format == kind.partition(", s")[0].partition(", q")[0].partition(", m")[0].partition(", d")[0]
    assert not read.distance
    assert list(read.lists) == WANTED


def test_a_log_of_chroma_has_distances(tmp_path):
    ids, distances = [each for each, _ in WANTED], [[0.1, 0.4, 0.5], [0.2, 0.8]]
    read = read_log(write(tmp_path / "log.jsonl", [{"ids": ids, "distances": distances, "documents": None}]))
    assert read.distance
    assert read_lists(read.lists, distance=True).scores.tolist() == [-0.1, -0.4, -0.5, -0.2, -0.8]


def test_a_document_may_fill_its_file(tmp_path):
    (tmp_path / "log.json").write_text(json.dumps({"responses": [elastic(*each) for each in WANTED]}, indent=2))
    assert list(read_log(tmp_path / "log.json").lists) == WANTED


def test_parquet_and_labels(tmp_path):
    ids, scores = zip(*WANTED, strict=True)
    pq.write_table(pa.table({"ids": ids, "scores": scores, "relevant": ["a", None]}), tmp_path / "log.parquet")
    read = read_log(tmp_path / "log.parquet")
    assert read.relevant == ["a", None]
    assert np.array_equal(read_lists(read.lists).starts, [0, 3, 5])
    labelled = read_log(write(tmp_path / "log.jsonl", [dict(LOGS["hubless"][0], relevant="b"), LOGS["hubless"][1]]))
    list(labelled.lists)
    assert labelled.relevant == ["b", None]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "log (log.jsonl): expected at least one logged answer, got none"),
        ('{"ids"', "log (log.jsonl), line 1: expected a JSON document"),
        ('{"other": 1}', "log (log.jsonl), line 1: expected a logged answer. hubless: "),
        ('{"ids": ["a"], "scores": [1]}\n\n{"result": []}', "log (log.jsonl), line 3: expected as the first, hubless"),
        ('{"hits": {"hits": [{"_id": "a"}]}}', "log (log.jsonl), line 1: expected as the first, Elasticsearch"),
        ('{"ids": ["a"], "scores": [1]}\nx', "log (log.jsonl), line 2: expected a JSON document"),
    ],
)
def test_what_is_no_log_is_named_by_its_line(content, expected, tmp_path):
    (tmp_path / "log.jsonl").write_text(content)
    with pytest.raises(InputError) as error:
        list(read_log(tmp_path / "log.jsonl").lists)
    assert str(error.value).startswith(expected)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "log.txt").write_text("a")
    with pytest.raises(InputError, match=r"a file ending in .jsonl, .ndjson, .json or .parquet, got .txt"):
        read_log(tmp_path / "log.txt")
    with pytest.raises(StorageError, match="there is no such file"):
        read_log(tmp_path / "none.jsonl")
