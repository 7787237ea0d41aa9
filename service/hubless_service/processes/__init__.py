"""Running processes: the server on its socket, its workers, and what the workers tell each other through a folder."""
