"""Loading versions into Milvus: a fresh collection a version there, an alias for the current one, and what is left."""
