"""The collections that are served, and how they are asked: versions, batches, encoders."""
