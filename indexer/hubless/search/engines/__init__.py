"""Engines, one a file or folder: each finds the best targets for augmented queries, approximately or exactly.

Stands below `ranker` and `collection`, which know the protocol in `base` only.
"""
