"""Work that makes a new version of a collection while it is served: a merge, or a fit on another query bank.

It runs in a process of its own, of low priority, one a collection at a time. Its status is a file beside the versions.
"""
