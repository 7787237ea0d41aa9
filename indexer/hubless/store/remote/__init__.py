"""Catalogs in object storage: pushed to and pulled from a folder, which all other rooms work with.

Stands on the catalog and the bundle. Objects → mirror → working copy.
"""
