"""Methods that score candidates of the index anew, with numbers measured offline."""
