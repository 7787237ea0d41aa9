import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.files import write_parquet
from support.problems import normal

import hubless

ROWS = normal(12, 4, seed=1)


def build(folder, payload, targets=ROWS):
    hubless.build(folder / "catalog", "c", targets, ROWS, payload=payload, correction="none")
    return hubless.open(folder / "catalog", "c")


def written(folder, suffix, count=12):
    path, rows = folder / f"payload{suffix}", [{"title": f"title {row}", "year": row} for row in range(count)]
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text("title,year\n" + "".join("{title},{year}\n".format(**row) for row in rows))
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
class TestFiles:
    def test_rows_stand_beside_their_targets(self, tmp_path, suffix):
        collection = build(tmp_path, written(tmp_path, suffix))
        assert collection.payload([7, 0]) == [{"title": "title 7", "year": 7}, {"title": "title 0", "year": 0}]
        assert collection.manifest.payload_columns == ["title", "year"]


def test_payload_given_replaces_that_in_the_file(tmp_path):
    path = write_parquet(tmp_path / "rows.parquet", ROWS, title=["in file"] * 12)
    assert build(tmp_path, None, path).payload([0]) == [{"title": "in file"}]
    assert build(tmp_path, [{"year": 1}] * 12, path).payload([0]) == [{"year": 1}]


class TestNested:
    def nested(self, depth, inner=1):
        for _ in range(depth):
            inner = [inner]
        return inner

    def test_payload_at_the_limit_is_stored_and_read(self, tmp_path):
        tree = self.nested(29, {"inner": self.nested(30)})
        index = hubless.Index(metric="dot", correction="none").fit(ROWS[:6] + 1, ROWS, payload=[{"tree": tree}] * 12)
        index.save(tmp_path / "catalog", "c")
        assert hubless.open(tmp_path / "catalog", "c").payload([3]) == [{"tree": tree}]
