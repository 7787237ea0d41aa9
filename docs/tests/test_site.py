import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.pages import PAGES, ROOT

pytest.importorskip("mkdocs", reason="needs what builds the site: make extras")


def build(project: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(project / "mkdocs.yml"), "-d", str(site)],
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    result = build(ROOT, folder)
    assert result.returncode == 0, result.stderr
    return folder


def test_every_page_is_built_and_every_link_between_them_leads_somewhere(site):
    pages = {page.stem for page in PAGES} - {"index"} | {"options"}
    assert {folder.parent.name for folder in site.glob("*/index.html")} == pages


def test_pages_are_there_as_markdown_too_and_llms_txt_lists_them(site):
    listed = re.findall(r"\((.+)\)", (site / "llms.txt").read_text("utf-8"))
    assert sorted(listed) == sorted(["options.md", *(page.name for page in PAGES)])
    for page in PAGES:
        without_marks = re.sub(r"(?s)<!--= .*? -->|<!--/-->", "", page.read_text("utf-8"))
        beside = re.sub(r"\]\([./\w-]*/docs/", "](", without_marks)
        assert (site / page.name).read_text("utf-8").strip() == beside.strip()


@pytest.mark.parametrize(
    "mistake",
    [
        "[x](no-such-page.md)",
        "[x](concepts.md#no-such-heading)",
        "[x](#no-such-heading)",
        "[x](/absolute)",
        "[x](../lab/docs/no-such-page.md)",
    ],
)
def test_site_with_a_broken_link_does_not_build(tmp_path, mistake):
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    for folder in {page.parent for page in PAGES}:
        shutil.copytree(folder, tmp_path / folder.relative_to(ROOT))
    with (tmp_path / "docs" / "index.md").open("a") as page:
        page.write(f"\n{mistake}\n")
    result = build(tmp_path, tmp_path / "site")
    assert result.returncode == 1
    assert "Aborted with 1 warnings" in result.stdout + result.stderr


def test_pages_load_nothing_from_other_hosts(site):
    loaded = [
        tag
        for page in site.rglob("*.html")
        for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", page.read_text())
        if re.search(r"""(?:src|href)=["']?(?:https?:)?//""", tag)
    ]
    assert loaded == []
