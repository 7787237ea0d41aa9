"""Vector databases as sources of vectors, and as places for the correction; one file a database."""
