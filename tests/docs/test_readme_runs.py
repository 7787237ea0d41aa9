"""The Python of the README runs as it is written, on arrays of its names."""

import re
from pathlib import Path

from support import small

import hubless

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def test_python_of_the_readme_runs_and_saves_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"(?ms)^```python\n(.*?)^```$", README)
    given = {"captions": small.query_bank(), "images": small.targets(), "vectors": small.vectors(3, 5)}
    exec(compile(block, "README", "exec"), given)  # noqa: S102
    results, raw = given["results"], given["raw"]
    assert results.scores.shape == raw.scores.shape == (3, 10)
    saved = hubless.open("catalog", "photos").query(given["vectors"], limit=10)
    assert list(saved.ids) == list(results.ids)
    assert list(raw.scores.ravel()) == list(raw.similarities.ravel())
