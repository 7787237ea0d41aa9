"""Query banks: what is checked before they are used, and the offsets that come of them."""
