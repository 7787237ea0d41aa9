"""Files of logged answers, as search engines give them."""

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hubless.scores.log_file import LOG_FORMATS, read_log
from hubless.scores.reading import read_lists

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


def hits(ids, scores):
    return {"hits": [{"id": each, "score": score, "offset": 0.0} for each, score in zip(ids, scores, strict=True)]}


LOGS = {
    "lines": [{"ids": ids, "scores": scores, "query": "q"} for ids, scores in WANTED],
    "a list": [[{"ids": ids, "scores": scores} for ids, scores in WANTED]],
    "_search": [elastic(*each) for each in WANTED],
    "_msearch": [
        {"took": 9, "responses": [*(elastic(*each) for each in WANTED), {"error": {"type": "x"}, "status": 400}]}
    ],
    "hubless": [hits(*each) | {"collection": "c", "version": "v"} for each in WANTED],
    "hubless, a batch": [{"results": [hits(*each) for each in WANTED], "collection": "c"}],
    "hits": [qdrant(*each) for each in WANTED],
    "Qdrant": [{"hits": []}, *({"result": {"points": qdrant(*each)}, "status": "ok"} for each in WANTED)],
    "Qdrant, search": [{"result": qdrant(*each), "status": "ok"} for each in WANTED],
    "Qdrant, search in batches": [{"result": [qdrant(*each) for each in WANTED], "status": "ok"}],
    "Qdrant, queries in batches": [{"result": [{"points": qdrant(*each)} for each in WANTED]}],
    "Qdrant, groups": [
        {"result": {"groups": [{"id": hit["id"], "hits": [hit]} for hit in qdrant(*each)]}} for each in WANTED
    ],
    "LangChain": [langchain(*each) for each in WANTED],
    "LangChain, metadata": [langchain(*each, id_in="metadata") for each in WANTED],
    "LangChain, dumpd": [
        [[{"lc": 1, "type": "constructor", "kwargs": document}, score] for document, score in langchain(*each)]
        for each in WANTED
    ],
    "ranx": [{f"q{row}": dict(zip(ids[::-1], scores[::-1], strict=True)) for row, (ids, scores) in enumerate(WANTED)}],
}


def write(path, documents):
    path.write_text("".join(json.dumps(each) + "\n" for each in documents))
    return path


@pytest.mark.parametrize("documents", LOGS.values(), ids=LOGS)
@pytest.mark.parametrize("wrapped", ["", "\ufeff", ".gz"])
def test_a_log_of_each_kind_has_the_same_lists(documents, wrapped, tmp_path):
    path = write(tmp_path / "log.jsonl", documents)
    if wrapped == ".gz":
        packed = gzip.compress(path.read_bytes())
        path = tmp_path / "log.jsonl.gz"
        path.write_bytes(packed)
    else:
        path.write_text(wrapped + path.read_text(), "utf-8")
    read = read_log(path)
    assert not read.distance
    assert list(read.lists) == WANTED


@pytest.mark.parametrize(
    ("name", "line"), [("log.csv", "{},{},{}"), ("log.tsv", "{}\t{}\t{}"), ("log.txt", "{} Q0 {} 1 {} x")]
)
def test_a_log_with_a_line_a_hit_has_the_same_lists(name, line, tmp_path):
    rows = [] if name == "log.txt" else [("query", "id", "score")]
    rows += [(f"q{row}", *hit) for row, each in enumerate(WANTED) for hit in zip(*each, strict=True)]
    (tmp_path / name).write_text("".join(f"{line.format(*row)}\n" for row in rows))
    found = read_lists(read_log(tmp_path / name).lists)
    assert found.ids.to_pylist() == ["a", "b", "c"]
    assert found.scores.tolist() == [0.9, 0.5, 0.4, 0.7, 0.2]


def test_the_page_names_each_kind():
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
    assert all(f"| {each.partition(': ')[0]} |" in page for each in LOG_FORMATS)


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
    labelled = read_log(
        write(
            tmp_path / "log.jsonl",
            [
                dict(zip(("ids", "scores"), each, strict=True), relevant=label)
                for each, label in zip(WANTED, "b-", strict=True)
            ],
        )
    )
    list(labelled.lists)
    assert labelled.relevant == ["b", "-"]
