"""hubless for VectorDBBench."""
