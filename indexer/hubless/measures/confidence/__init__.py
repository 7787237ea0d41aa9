"""Probabilities that the first hit is right, and that a right target is there: functions of scores and queries.

It knows no index and no files, and changes no ranking.
"""
