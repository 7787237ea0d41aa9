"""Methods that choose between the raw and the corrected ranking, query by query."""
