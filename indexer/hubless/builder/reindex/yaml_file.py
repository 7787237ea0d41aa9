"""A YAML file, with the line of each value, so that an error can name its place."""

from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import yaml

from hubless.errors import InputError, StorageError, one_line, storage_errors

Place: TypeAlias = tuple[str | int, ...]
"""Keys and positions that lead from the top of the file to a value."""


class Document(NamedTuple):
    """The content of a file, and in which line each value begins, from 1."""

    content: Any
    lines: dict[Place, int]


def read_yaml(path: Path) -> Document:
    """Return the content of a YAML file.

    Raises
    ------
    StorageError
        if there is no such file, or it cannot be read.
    InputError
        if it is not YAML, or a key stands twice; names the line.
    """
    with storage_errors(path):
        if not path.is_file():
            raise StorageError(path, "there is no such job file")
        try:
            text = path.read_text("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(path.name, "text in UTF-8", one_line(error)) from error
    lines: dict[Place, int] = {}
    try:
        return Document(_content(text, lines, path.name), lines)
    except InputError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = path.name if mark is None else f"{path.name}, line {mark.line + 1}"
        raise InputError(where, "YAML", f"a mistake: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(path.name, "YAML", one_line(error)) from error
    except RecursionError as error:
        raise InputError(path.name, "YAML of a few levels", "values inside values without end") from error


def _content(text: str, lines: dict[Place, int], name: str) -> Any:
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        return None if node is None else _value(loader, node, (), lines, name)
    finally:
        loader.dispose()


def _value(loader: yaml.SafeLoader, node: yaml.Node, place: Place, lines: dict[Place, int], name: str) -> Any:
    lines[place] = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, each, (*place, number), lines, name) for number, each in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return loader.construct_object(node)
    loader.flatten_mapping(node)
    content: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = str(loader.construct_object(key_node, deep=True))
        if key in content:
            raise InputError(f"{name}, line {key_node.start_mark.line + 1}", "each key once", f"{key} again")
        content[key] = _value(loader, value_node, (*place, key), lines, name)
        lines[*place, key] = key_node.start_mark.line + 1
    return content
