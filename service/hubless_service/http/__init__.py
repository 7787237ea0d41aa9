"""From bytes to checked requests, and from answers and errors to bytes."""
