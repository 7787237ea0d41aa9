"""Ray as an executor of hubless. hubless finds it by an entry point of the group `hubless.executors`."""

from importlib.metadata import version

__version__ = version("hubless-ray")
