"""Benchmarks: plain scripts that measure hubless against something that is timed in the same run."""
