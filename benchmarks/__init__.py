"""Benchmarks. Each script measures hubless against something that is timed in the same run."""
