"""Tell whether hubness hurts: by a query bank, by targets alone or by a log. The service imports nothing of it."""
