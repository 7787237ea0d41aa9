"""Block products that are reduced at once, and what spreads them over cores and machines."""
