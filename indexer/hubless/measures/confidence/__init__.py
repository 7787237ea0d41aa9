"""How likely the first hit is right, and how likely a right target is there: pure functions of scores and queries.

It knows no index and no files, and changes no ranking.
"""
