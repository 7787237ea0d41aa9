"""Rows of databases as vectors, and what a database has to do; the databases are those of `hubless-databases`."""
