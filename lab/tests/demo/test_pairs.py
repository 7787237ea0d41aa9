import sys

import pytest

from hubless.errors import InputError
from hubless_demo.pairs import Library, find_pairs, installed_package, standard_library

MODULE = '''
"""A module has documentation, and is no function."""

raise RuntimeError("a module that is read must not be run")


def plain(path):
    """Read a file
    of   settings.

    Second paragraphs are left out.
    """
    # a comment stays
    return open(path).read()


class Outer:
    """A class of four words."""

    @staticmethod
    def method(self):
        r"""Escape each \\d in it."""
        return "\\d"

    class Inner:
        async def wait(self): "Wait until it ends."; return 1


def undocumented():
    return 1


def terse():
    """Three words only."""


def outer():
    def inner():
        """Nested functions count too."""
        return 2
    return inner


if True:
    try:
        import nothing
    except ImportError:
        def fallback():
            """Written where none is."""
            return "é" + "\f" + "after a form feed"


def repeated():
    """Wait until it ends."""
    return 3
'''


FILES = ["__init__.py", "broken.py", "latin.py", "module.py", "undeclared.py", "sub/__init__.py"]


@pytest.fixture
def tree(tmp_path):
    """A made package, with files that must not be read among those that must."""
    root = tmp_path / "made"
    for folder in ("", "sub", "tests", "sub/test"):
        (root / folder).mkdir(exist_ok=True)
        (root / folder / "__init__.py").write_text(
            'def here():\n    """Say where this is, in {}."""\n'.format(folder or "root")
        )
    (root / "module.py").write_text(MODULE, "utf-8")
    (root / "broken.py").write_text("def broken(:\n")
    (root / "latin.py").write_bytes(
        '# coding: latin-1\ndef pound():\n    """Weigh it in £ please."""\n'.encode("latin-1")
    )
    (root / "undeclared.py").write_bytes(b'def bad():\n    """Is not utf-8 \xe9 at all."""\n')
    (root / "notes.txt").write_text(MODULE)
    return root


@pytest.fixture
def pairs(tree):
    library = Library("made", tree.parent, tuple(tree / name for name in FILES))
    return {pair.name: pair for pair in find_pairs(library)}


def test_functions_methods_async_and_nested_functions_are_found_by_qualified_name(pairs):
    """But for those with too few words, with the documentation of another, or in files that do not parse or decode."""
    assert list(pairs) == [
        "made.here",
        "made.latin.pound",
        "made.module.plain",
        "made.module.Outer.method",
        "made.module.Outer.Inner.wait",
        "made.module.outer.inner",
        "made.module.fallback",
        "made.sub.here",
    ]


def test_documentation_is_the_first_paragraph_and_code_the_source_without_it(pairs):
    plain = pairs["made.module.plain"]
    assert plain.doc == "Read a file of settings."
    assert "Second" not in plain.code
    assert [line for line in plain.code.splitlines() if line.strip()] == [
        "def plain(path):",
        "    # a comment stays",
        "    return open(path).read()",
    ]
    assert pairs["made.module.Outer.Inner.wait"].code == "        async def wait(self): ; return 1\n"
    beyond_ascii = pairs["made.module.fallback"].code
    assert "Written" not in beyond_ascii
    assert beyond_ascii.endswith('return "é" + "\f" + "after a form feed"\n')


@pytest.fixture
def installed(tree, monkeypatch):
    monkeypatch.syspath_prepend(tree.parent)
    return "made"


def test_package_is_read_without_its_tests_and_without_being_imported(installed):
    library = installed_package(installed)
    names = {file.relative_to(library.root / "made").as_posix() for file in library.files}
    assert names == set(FILES)
    assert "made.module.plain" in {pair.name for pair in find_pairs(library)}
    assert installed not in sys.modules


@pytest.mark.parametrize("name", ["no_such_package", "sys", "os.path", "../etc", "", "__main__", "-"])
def test_name_that_is_no_package_with_python_source_is_refused(name):
    with pytest.raises(InputError, match="installed package with Python source"):
        installed_package(name)


def test_standard_library_is_found_without_tests_and_without_installed_packages():
    library = standard_library()
    files = {file.relative_to(library.root).as_posix() for file in library.files}
    assert {"json/decoder.py", "heapq.py", "asyncio/tasks.py"} <= files
    assert not any(part in file for file in files for part in ("/test/", "site-packages", "idlelib"))
