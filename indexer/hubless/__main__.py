"""`hubless` and `python -m hubless`."""

import sys

from hubless.errors import HublessError, installed


def main() -> None:
    """Run the command line, or say which extra brings what it needs."""
    try:
        with installed("the command hubless", "collections"):
            from hubless.cli.application import main as run
    except HublessError as error:
        sys.exit(f"error: {error}")
    run()


if __name__ == "__main__":
    main()
