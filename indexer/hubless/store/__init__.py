"""Versions on disk: what a bundle holds, which version of a collection is current, and aliases.

Stands below `search` and `builder`, which read and write versions.
"""
