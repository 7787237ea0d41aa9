"""No name of the client means another thing in the library."""

import dataclasses
import inspect

import pytest

import hubless
import hubless.errors
import hubless_client
from hubless_client import ApiError, ClientError

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


@pytest.mark.parametrize("name", sorted(SAME_ON_BOTH_SIDES))
def test_class_with_the_name_of_the_librarys_has_the_fields_of_the_librarys(name):
    library, client = (
        {field.name for field in dataclasses.fields(getattr(m, name))} for m in (hubless, hubless_client)
    )
    # The number of the row is the library's own: it says where the target lies in memory.
    assert library - {"row"} <= client


def test_name_of_an_error_is_its_code_in_camel_case_and_says_whether_the_server_answered():
    for name in errors_of(hubless_client.errors):
        kind = getattr(hubless_client, name)
        assert issubclass(kind, ClientError)
        assert name == ("Api" if issubclass(kind, ApiError) else "") + camel(kind.code)
