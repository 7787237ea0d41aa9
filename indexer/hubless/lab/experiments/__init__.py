"""Experiments on labelled queries: evaluate, compare, tune, and what they are made of.

Stands on the other modules of `lab`; `report` stands on it.
"""
