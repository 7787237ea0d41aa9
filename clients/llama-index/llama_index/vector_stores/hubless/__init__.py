"""hubless in LlamaIndex: a vector store whose ranking is corrected for hubness."""

from importlib.metadata import version

from llama_index.vector_stores.hubless.base import HublessVectorStore
from llama_index.vector_stores.hubless.cutoff import HublessCutoff
from llama_index.vector_stores.hubless.errors import HublessError

__version__ = version("llama-index-vector-stores-hubless")
__all__ = ["HublessCutoff", "HublessError", "HublessVectorStore"]
