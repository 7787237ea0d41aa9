"""The LangChain adapter, in its environment (`make langchain`)."""

from support.adapters import AdapterTests


class TestLangChain(AdapterTests):
    name = "langchain"
    packages = ("langchain_hubless",)
    least = 50
