"""hubless in LangChain: a vector store whose ranking is corrected for hubness, and a retriever."""

from importlib.metadata import version

from langchain_hubless.cutoff import HublessCutoff
from langchain_hubless.errors import HublessError
from langchain_hubless.rerank import HublessRerank
from langchain_hubless.retrievers import HublessRetriever
from langchain_hubless.vectorstores import HublessVectorStore

__version__ = version("langchain-hubless")
__all__ = ["HublessCutoff", "HublessError", "HublessRerank", "HublessRetriever", "HublessVectorStore"]
