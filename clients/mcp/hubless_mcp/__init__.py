"""hubless for programs that speak the Model Context Protocol: search without hubs, as tools."""

from importlib.metadata import version

from hubless_mcp.tools import main, make_server

__version__ = version("hubless-mcp")
__all__ = ["main", "make_server"]
