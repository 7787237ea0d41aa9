"""hubless in Haystack: a document store whose ranking is corrected for hubness."""

from importlib.metadata import version

from haystack_integrations.document_stores.hubless.document_store import HublessDocumentStore
from haystack_integrations.document_stores.hubless.errors import HublessError

__version__ = version("hubless-haystack")
__all__ = ["HublessDocumentStore", "HublessError"]
