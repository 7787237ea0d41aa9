"""hubless in LlamaIndex: a vector store whose ranking is corrected for hubness."""

from llama_index.vector_stores.hubless.base import HublessVectorStore
from llama_index.vector_stores.hubless.errors import HublessError

__all__ = ["HublessError", "HublessVectorStore"]
