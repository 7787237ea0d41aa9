"""Versions on disk: what a bundle holds, which version of a collection is current, and aliases."""
