"""Milvus as the engine: the vectors of a version lie in a collection of its own there, with their offsets folded in.

The version itself, with ids, payload and offsets, lies in the catalog as with Faiss.
"""

from importlib.metadata import version

__version__ = version("hubless-milvus")
