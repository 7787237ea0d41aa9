"""Milvus as an engine: the vectors of a version in a collection of their own, searched over the network."""
