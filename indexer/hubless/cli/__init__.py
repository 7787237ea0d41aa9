"""The command line: parsing and printing only. It stands on all rooms of the library."""

from hubless.cli.application import app, main

__all__ = ["app", "main"]
