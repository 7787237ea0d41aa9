"""Log lines: text for people, or an object of JSON a line for programs. A thread of their own writes them."""

import logging
import os
import select
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from logging.handlers import QueueHandler, QueueListener
from queue import SimpleQueue
from time import localtime, sleep, strftime
from typing import Any

import orjson

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
MOST = 10_000
"""Lines that wait to be written; further ones are dropped."""
_PAUSE = 0.05  # seconds in which lines come together: each write takes Python from the event loop, and gives it back
_LAST_SECONDS = 1.0  # for what still waits when the process ends

_log = logging.getLogger("hubless.logs")


def configure(level: str, format_: str) -> "LineHandler":
    """Send the process's log to standard error, from a level on, in one of `FORMATTERS`; once a process."""
    root = logging.getLogger()
    if given := next((handler for handler in root.handlers if isinstance(handler, LineHandler)), None):
        return given
    handler = LineHandler(sys.__stderr__.fileno() if sys.__stderr__ else 2)
    handler.setFormatter(FORMATTERS[format_])
    root.addHandler(handler)
    root.setLevel(level.upper())
    for chatty in ("httpx", "httpcore", "faiss.loader"):  # a line a call of an encoder, or an import, says nothing
        logging.getLogger(chatty).setLevel(logging.WARNING)
    # no line of ours says where it was logged, or in which thread and process: to find that out takes half of its time
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # what would be written to standard error elsewhere would wait for its reader
    logging.captureWarnings(True)
    sys.excepthook = lambda kind, error, where: _log.critical("the process ends", exc_info=(kind, error, where))
    threading.excepthook = _log_end_of_thread
    return handler


class TextFormatter(logging.Formatter):
    """A line for people. The time of a second is written once: that would take a third of a line's time."""

    _second: tuple[int, str] = (0, "")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        """Write the time of a record, in local time, with milliseconds."""
        known, text = self._second
        if (second := int(record.created)) != known:
            text = strftime("%Y-%m-%d %H:%M:%S", localtime(second))
            self._second = second, text
        return f"{text},{int(record.msecs):03d}"


class JsonFormatter(logging.Formatter):
    """One object a line: time, level and logger, then the `fields` of what was logged, or its message."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record; what JSON has no type for as text."""
        fields: Mapping[str, Any] | None = getattr(record.msg, "fields", None)
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            **({"message": record.getMessage()} if fields is None else fields),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, str).decode()


FORMATTERS = {"text": TextFormatter(TEXT), "json": JsonFormatter()}


class LineHandler(QueueHandler):
    """Formats records at once, and has a thread write them to a descriptor."""

    queue: SimpleQueue[Any]

    def __init__(self, descriptor: int) -> None:
        # the simple one, as a line may be logged by a finaliser that runs in the middle of another `put`
        super().__init__(SimpleQueue[Any]())
        self.on_drop: Callable[[], None] = lambda: None
        self._dropped = 0
        _Writer(self.queue, descriptor, lambda: self.on_drop()).start()

    def prepare(self, record: logging.LogRecord) -> bytes:
        """Return the line of a record."""
        try:
            text = self.format(record)
        except Exception:
            text = self.format(_record(logging.ERROR, "a line could not be formatted: %r", record.msg))
        return text.encode("utf-8", "backslashreplace") + b"\n"

    def enqueue(self, line: bytes) -> None:  # type: ignore[override]  # of what `prepare` returns
        """Have a line written, after one that says how many were dropped before it; dropped if too many wait."""
        if self.queue.qsize() >= MOST:
            self._dropped += 1
            self.on_drop()
            return
        if self._dropped:
            told = _record(logging.WARNING, "%d log lines were dropped, as nobody read them", self._dropped)
            self._dropped = 0
            self.queue.put(self.prepare(told))
        self.queue.put(line)

    def flush(self) -> None:
        """Wait until what was logged before is written, for a second at most."""
        self.queue.put(written := threading.Event())
        written.wait(_LAST_SECONDS)


class _Writer(QueueListener):
    """Writes lines, each at once, so that no other process can break one, and tells those who wait for `flush`."""

    queue: SimpleQueue[Any]

    def __init__(self, waiting: Any, descriptor: int, on_drop: Callable[[], None]) -> None:
        super().__init__(waiting)
        self._descriptor = descriptor
        self._on_drop = on_drop

    def dequeue(self, block: bool) -> Any:
        """Wait a moment before the queue is looked at anew."""
        if self.queue.empty():
            sleep(_PAUSE)
        return self.queue.get(block)

    def handle(self, item: Any) -> None:
        """Write a line."""
        if isinstance(item, threading.Event):
            item.set()
            return
        while item:
            try:
                item = item[os.write(self._descriptor, item) :]
            except BlockingIOError:
                select.select([], [self._descriptor], [])
            except OSError:  # the reader is gone
                item = b""
                self._on_drop()


def _record(level: int, message: str, argument: object) -> logging.LogRecord:
    return logging.LogRecord(_log.name, level, __file__, 0, message, (argument,), None)


def _log_end_of_thread(end: threading.ExceptHookArgs) -> None:
    if not issubclass(end.exc_type, SystemExit) and end.exc_value:
        name = end.thread.name if end.thread else "unknown"
        _log.error("thread %s has ended", name, exc_info=(end.exc_type, end.exc_value, end.exc_traceback))
