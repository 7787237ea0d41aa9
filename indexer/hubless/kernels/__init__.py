"""Block products that are reduced at once, and what spreads them over cores, devices and machines."""
