"""The batch job: vectors → offsets → index → a new version.

Stands on `search`, with which it measures what it built; `lab` and `cli` stand on it.
"""
