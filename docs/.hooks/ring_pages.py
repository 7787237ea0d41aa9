"""Pages of the rings, `RING/docs/`, stand on the site beside those of `docs/`."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
FOLDERS = sorted({*ROOT.glob("[a-z]*/docs"), *ROOT.glob("engines/*/docs")})
"""All are flat on the site, so their files have names of their own."""
BETWEEN = re.compile(r"\]\((?:\.\./)+(?:[\w-]+/)*docs/")
"""How a page links, in the repository, to a page of another folder."""


def on_files(files: Any, config: Any) -> Any:
    """Add the pages and pictures of the rings."""
    for folder in FOLDERS:
        for path in filter(Path.is_file, sorted(folder.rglob("*"))):
            name = path.relative_to(folder).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Lead links between folders to where their pages are on the site."""
    return BETWEEN.sub("](", markdown)
