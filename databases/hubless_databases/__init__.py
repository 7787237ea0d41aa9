"""Vector databases as sources of vectors, and as places for the correction: a file each, PostgreSQL a room.

hubless finds them by entry points of the group `hubless.databases`.
"""

from importlib.metadata import version

__version__ = version("hubless-databases")
