"""Benchmarks of others, run on this library."""
