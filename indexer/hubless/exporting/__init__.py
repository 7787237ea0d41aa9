"""Takes the offsets to another vector database: rows → files → a script that loads them and asks.

Stands on search, beside builder.
"""
