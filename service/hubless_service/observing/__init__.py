"""Metrics, logs, traces, live hubness, drift and the query sample."""
