"""The edge of HTTP: bytes of a connection become requests, within limits of size and of time, before any key is read.

Stands below the app, on uvicorn's protocol. `protocol_of` is what a server is given.
"""
