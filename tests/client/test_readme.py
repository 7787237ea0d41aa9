"""The tables of the README have what there is. tests/docs/test_pages_run.py runs its blocks."""

import re
from pathlib import Path

from hubless_client import Client, problems

README = (Path(__file__).parents[2] / "clients" / "python" / "README.md").read_text("utf-8")


def test_table_of_codes_has_each_code_beside_its_base_class():
    rows = re.findall(r"(?m)^\| (`[a-z_`, ]+`) \| `(Api\w+)`.* \|$", README)
    told = {code: base for codes, base in rows for code in re.findall(r"\w+", codes)}
    branches = {base for _, base in rows}
    for code, kind in problems.BY_CODE.items():
        if kind.__name__ in branches and kind.code not in told:
            continue  # the base class of a row: no server sends its code
        nearest = next(base.__name__ for base in kind.__mro__ if base.__name__ in branches)
        assert told.pop(code) == nearest
    assert told == {}


def test_table_of_methods_has_each_method():
    methods = {name for name in dir(Client) if not name.startswith("_")} - {"close"}
    rows = re.findall(r"(?m)^\| (`.*) \| .* \|$", README)
    assert methods <= {name for row in rows for name in re.findall(r"`(\w+)\(", row)}
