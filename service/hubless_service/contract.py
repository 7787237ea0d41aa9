"""The OpenAPI document as text, always the same for the same code: `make openapi` stores it as docs/openapi.json."""

import json
import sys
from pathlib import Path

from hubless_service.app import create_app
from hubless_service.settings import Settings


def contract() -> str:
    """The document as `/openapi.json` has it, but a line an entry, so that a change of it can be read."""
    # any folder does: none is looked into before the app starts
    document = create_app(Settings(catalog=Path())).openapi()
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(contract())
