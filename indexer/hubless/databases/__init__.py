"""Vector databases as sources of vectors, and as places for the correction: a file each, PostgreSQL a room."""
