"""The server of the Model Context Protocol, in its environment (`make mcp`)."""

import pytest
from support.adapters import AdapterTests

pytestmark = pytest.mark.slow  # its environment takes a minute to make


class TestMcp(AdapterTests):
    name = "mcp"
    packages = ("hubless_mcp",)
    least = 6
