"""Corrections in PostgreSQL with pgvector: `pgvector` does the steps, each other module one kind of them."""
