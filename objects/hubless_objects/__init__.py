"""Catalogs in object storage: pushed to and pulled from a folder, which hubless works with.

hubless finds them by entry points of the group `hubless.catalogs`, named like the schemes of addresses.
"""

from importlib.metadata import version

__version__ = version("hubless-objects")
