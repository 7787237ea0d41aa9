"""Takes targets with their offsets to a file, for other programs.

Stands on search, beside builder.
"""
