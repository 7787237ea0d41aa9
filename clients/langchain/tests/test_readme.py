"""The README's example runs as it stands, but for the server's address and key."""

import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"(?ms)^```python\n(.*?)^```$", README)


def test_example_finds_the_quick_recipe(server, capsys):
    [block] = BLOCKS
    address = f'url="{server["url"]}", api_key="{server["api_key"]}"'
    code = block.replace('url="http://127.0.0.1:8000"', address)
    assert address in code
    exec(code, {})  # noqa: S102
    assert "Boil the pasta" in capsys.readouterr().out


def test_text_names_what_is_there():
    from langchain_hubless import HublessVectorStore

    names = set(re.findall(r"`([a-z_]+)(?:\(|`)", README[README.index("All methods") :]))
    missing = {name for name in names if "_" in name and not hasattr(HublessVectorStore, name)}
    assert missing <= {"score_threshold", "group_by", "min_accuracy", "min_confidence", "min_presence"}
