"""Vector search without hubs: measure each target's hubness offline, take it out of the ranking at no cost per query."""
