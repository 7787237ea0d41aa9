"""The delta of a collection since its version was built: a memtable of added targets, and marks of removed ones.

`transaction` has the collection that can be written to; `writes` has the writes as they stand in the log.
"""
