"""Readers of files that people have: one file a kind, and the table of all formats."""
