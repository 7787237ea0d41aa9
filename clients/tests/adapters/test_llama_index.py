"""The LlamaIndex adapter, in its environment (`make llama-index`)."""

import pytest
from support.adapters import AdapterTests

pytestmark = pytest.mark.slow  # its environment takes a minute to make


class TestLlamaIndex(AdapterTests):
    name = "llama-index"
    packages = ("llama_index.vector_stores.hubless",)
    least = 50
