"""Log lines: text for people, or an object of JSON a line for programs."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def configure(level: str, format_: str) -> None:
    """Send the process's log to standard error, from a level on, in one of `FORMATTERS`."""
    handler = logging.StreamHandler()
    handler.setFormatter(FORMATTERS[format_])
    logging.basicConfig(level=level.upper(), handlers=[handler])
    for client in ("httpx", "httpcore"):  # a line for each call of an encoder says nothing
        logging.getLogger(client).setLevel(logging.WARNING)


class JsonFormatter(logging.Formatter):
    """One object a line: time, level and logger, then what the record was logged with as `fields`, or its message."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record; what JSON has no type for as text."""
        fields: Mapping[str, Any] | None = getattr(record, "fields", None)
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            **({"message": record.getMessage()} if fields is None else fields),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, str).decode()


FORMATTERS = {"text": logging.Formatter(TEXT), "json": JsonFormatter()}
