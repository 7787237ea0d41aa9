"""Engines, one a file or folder: each finds the best targets for augmented queries, approximately or exactly."""
