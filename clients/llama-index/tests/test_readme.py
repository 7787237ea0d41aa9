"""The README's example runs as it stands, but for the server's address and key."""

import re
from pathlib import Path

from llama_index.vector_stores.hubless import HublessVectorStore

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"(?ms)^```python\n(.*?)^```$", README)


def test_example_finds_the_quick_recipe(server, capsys):
    [block] = BLOCKS
    address = f'url="{server["url"]}", api_key="{server["api_key"]}"'
    code = block.replace('url="http://127.0.0.1:8000"', address)
    assert address in code
    exec(code, {})  # noqa: S102
    printed = capsys.readouterr().out
    assert "Boil the pasta" in printed
    assert "dough" not in printed


def test_methods_that_are_named_are_there():
    names = set(re.findall(r"`([a-z_]+)\(", README[README.index("All methods") :]))
    assert names
    assert not [name for name in names if not hasattr(HublessVectorStore, name)]
