"""Vectors, ids and payload: arrays, sources that are read in blocks, and the files that hold them."""
