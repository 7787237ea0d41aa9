"""The pages for newcomers run as they are written."""

import shutil

import pytest
from support.pages import blocks, run

PAGES = {"quickstart.md": 120, "hurting.md": 240, "encoders.md": 120}
"""And how many seconds each may take."""


@pytest.mark.parametrize("page", PAGES)
def test_page_has_blocks_of_both_kinds(page):
    assert {language for language, _ in blocks(page)} == {"bash", "python"}


@pytest.mark.skipif(shutil.which("curl") is None, reason="the pages ask the server with curl")
@pytest.mark.parametrize("page", PAGES)
def test_page_runs_as_written_up_to_an_answer_of_the_server(page, tmp_path):
    assert '"hits"' in run(page, tmp_path, PAGES[page])
