"""hubless in Haystack: a document store whose ranking is corrected for hubness."""

from haystack_integrations.document_stores.hubless.document_store import HublessDocumentStore
from haystack_integrations.document_stores.hubless.errors import HublessError

__all__ = ["HublessDocumentStore", "HublessError"]
