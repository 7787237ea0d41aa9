"""The Haystack adapter, in its environment (`make haystack`)."""

import pytest
from support.adapters import AdapterTests

pytestmark = pytest.mark.slow  # its environment takes a minute to make


class TestHaystack(AdapterTests):
    name = "haystack"
    packages = ("haystack_integrations.document_stores.hubless", "haystack_integrations.components.retrievers.hubless")
    least = 120
    skipped = 4  # the store has no option to make a collection anew when all is deleted
