"""Faiss indexes of a build: their kind and search parameters chosen, their files, and rows added to them."""
