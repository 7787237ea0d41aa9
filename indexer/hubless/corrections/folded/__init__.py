"""Methods that fold: one offset a target, and nothing at query time."""
