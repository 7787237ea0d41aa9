"""Commands of the lab: parsing and printing only."""
