"""Segments: targets that never change, each with an index; and those of a collection, without what is gone."""
