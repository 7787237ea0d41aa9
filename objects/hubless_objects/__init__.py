"""Catalogs in object storage: pushed to and pulled from a folder, which all other rooms work with."""
