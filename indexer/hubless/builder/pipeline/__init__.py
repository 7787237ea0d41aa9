"""The pipeline that makes every version: vectors → correction → offsets → index → measurements → files.

A correction is fitted (`fit`), or carried over from the version before (`carry`). Build, merge, refit, reindex and
`Index.save` are its callers.
"""
