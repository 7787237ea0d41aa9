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


def test_table_names_what_is_there():
    section = README[README.index("| method") : README.index("An index passes")]
    names = set(re.findall(r"`([a-z_]+)(?:\(|`)", section)) - {"default", "mmr", "admin"}
    assert len(names) == 14
    assert not {name for name in names if not hasattr(HublessVectorStore, name)}
