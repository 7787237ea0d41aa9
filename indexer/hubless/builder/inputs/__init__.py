"""Inputs of a build: opened, checked against each other, read once, and kept as they are compared."""
