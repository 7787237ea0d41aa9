"""Pages for programs that read: each page as Markdown beside it, and llms.txt, which lists them."""

import re
from pathlib import Path
from typing import Any

_MARKS = re.compile(r"(?s)<!--= .*? -->|<!--/-->")  # of benchmarks/figures.py
_pages: dict[str, str] = {}


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> None:
    """Keep the text of a page."""
    _pages[page.file.src_uri] = _MARKS.sub("", markdown)


def on_post_build(config: Any) -> None:
    """Write what was kept."""
    site = Path(config["site_dir"])
    lines = [f"# {config['site_name']}", "", f"> {config['site_description']}", "", "## Pages", ""]
    for path, text in _pages.items():
        (site / path).write_text(text, "utf-8")
        title = text.partition("\n")[0].lstrip("# ")
        lines.append(f"- [{title}]({path})")
    (site / "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")
