"""Names of the client: none means another thing in the library, and the tables of the README have all of them."""

import inspect
import re
from pathlib import Path

import hubless
import hubless.errors
import hubless_client
from hubless_client import ApiError, Client, ClientError, problems

SAME_ON_BOTH_SIDES = {"Explanation", "Hit", "Point"}


def errors_of(module):
    return {name for name, kind in inspect.getmembers(module, inspect.isclass) if issubclass(kind, Exception)}


def camel(code):
    return "".join(word.capitalize() for word in code.split("_"))


def test_no_class_of_the_client_has_the_name_of_an_error_of_the_library():
    classes = {
        name
        for module in (hubless_client, hubless_client.errors)
        for name, _ in inspect.getmembers(module, inspect.isclass)
    }
    assert classes & errors_of(hubless.errors) == set()
    assert "InputError" in errors_of(hubless.errors)


def test_client_and_library_export_no_name_for_different_things():
    assert set(hubless_client.__all__) & set(hubless.__all__) <= SAME_ON_BOTH_SIDES


def test_errors_are_exported_in_one_tree_and_their_names_say_code_and_whether_the_server_answered():
    for name in errors_of(hubless_client.errors):
        assert name in hubless_client.__all__
        kind = getattr(hubless_client, name)
        assert issubclass(kind, ClientError)
        assert name == ("Api" if issubclass(kind, ApiError) else "") + camel(kind.code)


README = (Path(__file__).parents[2] / "python" / "README.md").read_text("utf-8")


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
