"""The search path: query → candidates → gate or rescore → hits. Pure: no HTTP, no writing."""
