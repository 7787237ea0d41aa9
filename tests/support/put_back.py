"""Faults that hubless had, put back, so that a test can show that the simulation finds them."""

from hubless.store import catalog
from hubless_service.http.problems import internal_error
from hubless_service.searching import writer


def numbers_twice():
    """Number the writes after a restore on from the log alone, whatever the versions have."""
    log = catalog.Log
    catalog.Log = lambda home, until=None, *rest: log(home, until)


def one_for_all():
    """Refuse all writes of a group if one of them turns out to be wrong."""

    def attempt(self, tasks):
        try:
            self._write(tasks)
        except Exception:
            writer._fail(tasks, internal_error())

    writer.Writer._attempt = attempt


def acknowledged_early():
    """Acknowledge a write that nobody has brought to the disk."""
    from hubless.store import log

    writing_ = log.Log.writing
    log.Log.writing = lambda self, **options: writing_(self, **{**options, "durable": False})


def unsynced_version():
    """Publish a version whose files nobody has brought to the disk."""
    from hubless.store import bundle

    bundle.sync = lambda path: None
