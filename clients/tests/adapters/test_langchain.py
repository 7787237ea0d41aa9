"""The LangChain adapter, in its environment (`make langchain`)."""

import pytest
from support.adapters import AdapterTests

pytestmark = pytest.mark.slow  # its environment takes a minute to make


class TestLangChain(AdapterTests):
    name = "langchain"
    packages = ("langchain_hubless",)
    least = 50
