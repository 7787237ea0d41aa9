"""Collections as an engine gets them, with what can go wrong on the way."""

import threading
from pathlib import Path

import hubless


class Source(hubless.Catalog):
    """Collections by name, or the exceptions that opening them raises.

    `gate` holds all back until it is set; an event in `gates` one of them.
    """

    def __init__(self, collections, *, held=False):
        super().__init__(Path("/nowhere"))
        self.served = collections
        self.gate = threading.Event()
        self.gates = {}
        if not held:
            self.gate.set()

    def names(self):
        if isinstance(self.served, Exception):
            raise self.served
        return list(self.served)

    def current(self, name):
        collection = self.served[name]
        return getattr(collection, "version", str(id(collection)))

    def version_ids(self, name):
        return [self.current(name)]

    def log(self, name):
        return None

    def aliases(self):
        return {}

    def open(self, name, *, hashes, known=None):
        assert self.gate.wait(10)
        assert name not in self.gates or self.gates[name].wait(20)
        collection = self.served[name]
        if isinstance(collection, Exception):
            raise collection
        return collection
