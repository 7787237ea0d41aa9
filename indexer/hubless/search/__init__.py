"""The search path: query → candidates → gate or rescore → hits. Pure: no HTTP, no writing.

Stands on `store`, `knn` and `corrections`; `builder` and the service stand on it.
"""
