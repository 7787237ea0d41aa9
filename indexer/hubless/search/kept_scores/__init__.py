"""Corrections of scores that a catalog keeps, and what they learn from."""
