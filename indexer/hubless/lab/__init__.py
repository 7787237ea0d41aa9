"""Experiments: evaluate, compare, tune, diagnose, scan and report. The service imports nothing of it."""
