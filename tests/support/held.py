"""A collection that answers when it is told to, and remembers what it was asked."""

import threading


class Held:
    """Like a collection; each call of `query` waits until `free` is set. `asked` has the size of each."""

    def __init__(self, collection, *, free=False):
        self._collection = collection
        self.free = threading.Event()
        self.begun = threading.Semaphore(0)  # one for each call that has begun
        self.asked = []
        if free:
            self.free.set()

    def __getattr__(self, name):
        return getattr(self._collection, name)

    def check_canaries(self):
        pass

    def query(self, vectors, *arguments, **options):
        self.asked.append(len(vectors))
        self.begun.release()
        assert self.free.wait(20)
        return self._collection.query(vectors, *arguments, **options)
