"""Pages and sentences from templates, which stand in `templates/` of a package. Those of HTML escape all text."""

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from hubless.vectors.images import link_of

_CODE = re.compile("`([^`]+)`")


def render(template: str, package: str = "hubless", **given: Any) -> str:
    """Return a page, or a part of one, by a template of a package. In its text, `backticks` become code."""
    return _environment(package).get_template(template).render(given)


@cache
def _environment(package: str) -> Environment:
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        commas="{:,}".format,
        percent=lambda share: f"{100 * share:.1f} %",
        link=link_of,
        code=lambda text: Markup(_CODE.sub(r"<code>\1</code>", str(escape(text)))),  # noqa: S704 escaped
    )
    return environment
