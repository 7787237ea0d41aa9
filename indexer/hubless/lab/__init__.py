"""Experiments: evaluate, compare, tune, diagnose, scan and report. The service imports nothing of it.

Stands on `builder` and `search`; only `demo` and `cli` stand above it.
"""
