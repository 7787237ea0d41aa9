"""For who has a search already: offsets of its targets, and its lists of ids and scores corrected and fused."""
