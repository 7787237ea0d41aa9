"""The README's example runs as it stands, but for the server's address."""

import re
from pathlib import Path

from haystack_integrations.document_stores.hubless import HublessDocumentStore

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"(?ms)^```python\n(.*?)^```$", README)


def test_example_finds_the_quick_recipe(server, monkeypatch, capsys):
    [block] = BLOCKS
    monkeypatch.setenv("HUBLESS_API_KEY", server["api_key"].resolve_value())
    code = block.replace("http://127.0.0.1:8000", server["url"])
    assert server["url"] in code
    exec(code, {})  # noqa: S102
    printed = capsys.readouterr().out
    assert "Boil the pasta" in printed
    assert "dough" not in printed


def test_methods_that_are_named_are_there_sync_and_async():
    names = set(re.findall(r"`([a-z_]+)\(", README[README.index("All methods") :]))
    assert names
    assert not [name for name in names if not hasattr(HublessDocumentStore, name)]
    assert not [name for name in names if not hasattr(HublessDocumentStore, f"{name}_async")]
