"""The OpenAPI document as text, always the same for the same code: `make openapi` stores it as docs/openapi.json."""

import json
import sys
from pathlib import Path

from hubless_service.app import create_app
from hubless_service.settings import Settings


def contract() -> str:
    """The document with the examples of the demo and all settings as they are by default, one entry a line."""
    # built without the environment; any folder does, as none is looked into before the app starts
    document = create_app(Settings.model_construct(catalog=Path())).openapi()
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(contract())
