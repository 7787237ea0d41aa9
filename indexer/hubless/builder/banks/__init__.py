"""Query banks: checked, split, mixed, thinned, and compared with what people ask."""
