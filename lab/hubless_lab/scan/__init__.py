"""The scan for planted hubs: how often targets are seen, how near they lie, and what is found."""
