"""The batch job: vectors → offsets → index → a new version."""
