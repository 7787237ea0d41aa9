"""Products of queries and targets, reduced block by block. The only hot code of the offline side.

Stands on `vectors`; corrections, indexes and measures stand on it.
"""
