"""The endpoints, a few lines each."""
