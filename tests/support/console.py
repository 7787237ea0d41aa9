"""Addresses of the console."""

from urllib.parse import quote


def address_of(collection, view, params):
    """What stands behind /console/ for a view; nothing for the list of collections."""
    if not collection:
        return ""
    query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in params.items())
    return f"#/{quote(collection, safe='')}/{view}?{query}"
