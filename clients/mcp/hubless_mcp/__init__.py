"""hubless for programs that speak the Model Context Protocol: search without hubs, as tools."""

from hubless_mcp.tools import main, make_server

__all__ = ["main", "make_server"]
