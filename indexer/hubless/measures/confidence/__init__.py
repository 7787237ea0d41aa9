"""Probabilities that the first hit is right, and that a right target is there: functions of scores and queries."""
