"""The table of formats in docs/cli.md is that of the code."""

from pathlib import Path

from hubless.vectors.readers.formats import FILE_FORMATS, Use

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_page_lists_the_formats_that_are_read_with_their_endings_and_what_they_hold():
    table = PAGE.read_text("utf-8").partition("### Formats\n\n")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    listed = [(name, endings, bool(vectors), bool(payload)) for name, endings, vectors, payload in cells]
    assert listed == [
        (
            each.name,
            ", ".join(f"`{ending}`" for ending in each.endings),
            Use.VECTORS in each.use,
            Use.PAYLOAD in each.use,
        )
        for each in FILE_FORMATS
        if each.use
    ]


def test_page_names_the_formats_of_which_a_folder_is_not_read():
    said = (
        PAGE.read_text("utf-8")
        .partition("**A folder** of such files of one kind, but not ")[2]
        .partition(", is read")[0]
    )
    alone = [each.name.removesuffix(" index") for each in FILE_FORMATS if each.use and Use.SHARDS not in each.use]
    assert said == f"{', '.join(alone[:-1])} or {alone[-1]}"


def test_every_format_that_is_not_read_has_a_line_that_converts_it():
    assert all(bool(each.use) != bool(each.convert) for each in FILE_FORMATS)
