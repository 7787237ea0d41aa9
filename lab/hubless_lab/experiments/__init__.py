"""Experiments on labelled queries: evaluate, compare, tune, and what they are made of."""
