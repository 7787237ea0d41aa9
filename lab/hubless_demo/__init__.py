"""The demo: search the functions of a library in plain English, with and without hubs."""
