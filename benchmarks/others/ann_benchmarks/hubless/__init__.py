"""hubless for ann-benchmarks."""
