"""The edge of HTTP: bytes of a connection become requests, within limits of size and time, before any key is read."""
