"""The command line: parsing and printing only.

The top floor: it stands on all rooms of the library.
"""

from hubless.cli.application import app, main

__all__ = ["app", "main"]
