"""Encoders that load a model on this machine, and what makes vectors of whole folders.

hubless finds them by entry points of the group `hubless.encoders`, named like the `type` of a description.
"""

from importlib.metadata import version

__version__ = version("hubless-encoders")
