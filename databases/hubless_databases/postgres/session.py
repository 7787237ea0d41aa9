"""A connection to PostgreSQL: statements with names, the lock of a correction, and patience with other locks."""

import time
from collections.abc import Callable, Sequence
from typing import Any, LiteralString

import psycopg
from psycopg import errors, sql

from hubless.errors import EngineError, InputError

Name = str | tuple[str, ...] | sql.Composable
"""A name of SQL, a qualified one, or text of SQL."""

ADVISORY = 0x6875626C  # "hubl"
"""The first number of the advisory locks. The second is the oid of the table, or of the schema for what it shares."""
_TRIES, _WAIT_SECONDS = 1_200, 0.5
_LIMITS = ("statement_timeout", "lock_timeout", "idle_session_timeout", "idle_in_transaction_session_timeout")


def sql_name(name: Name) -> sql.Composable:
    """Return a name as SQL that quotes it."""
    if isinstance(name, sql.Composable):
        return name
    return sql.Identifier(name) if isinstance(name, str) else sql.Identifier(*name)


class PgSession:
    """A connection in autocommit. It prepares nothing, so that poolers can stand between."""

    def __init__(self, **given: Any) -> None:
        self.connection = psycopg.connect(autocommit=True, prepare_threshold=None, **given)
        self._held: int | None = None

    def composed(self, statement: LiteralString, **names: Name) -> sql.Composed:
        return sql.SQL(statement).format(**{key: sql_name(name) for key, name in names.items()})

    def text(self, name: Name) -> str:
        """Return a name as text of SQL."""
        return sql_name(name).as_string(self.connection)

    def run(self, statement: LiteralString, values: Sequence[Any] = (), **names: Name) -> psycopg.Cursor[Any]:
        """Run a statement. `{name}` stands for a name, `%s` for a value."""
        texts = {key: self.text(name) for key, name in names.items()}
        if values:  # a percent sign in a name is none of a value
            texts = {key: text.replace("%", "%%") for key, text in texts.items()}
        whole = sql.SQL(statement).format(**{key: sql.SQL(text) for key, text in texts.items()})
        return self.connection.execute(whole, values or None)

    def rows(self, statement: LiteralString, values: Sequence[Any] = (), **names: Name) -> list[Any]:
        return self.run(statement, values, **names).fetchall()

    def one(self, statement: LiteralString, values: Sequence[Any] = (), **names: Name) -> Any:
        """Return the first value of the first row; None without rows."""
        row = self.run(statement, values, **names).fetchone()
        return None if row is None else row[0]

    def hold(self, oid: int, name: str) -> None:
        """Hold a table until the connection ends, and take away the limits of time that the role has.

        Raises `InputError` if another correction holds it.
        """
        if self._held == oid:
            return
        if not self.one("SELECT pg_try_advisory_lock(%s, %s::oid::int8::bit(32)::int4)", [ADVISORY, oid]):
            raise InputError("table", "one that no other correction is working on", name)
        self._held = oid
        self.run("SELECT set_config(name, '0', false) FROM pg_settings WHERE name = ANY(%s)", [list(_LIMITS)])

    def check_held(self) -> None:
        """Raise `EngineError` if the lock is gone: a pooler has put another connection in place of this one."""
        held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND classid = %s"
        if self._held is not None and not self.one(f"{held} AND objid = %s::oid", [ADVISORY, self._held]):
            raise EngineError("the lock of the correction is gone; connect without a pooler, or pool whole sessions")

    def patiently(self, work: Callable[[], None]) -> None:
        """Run a transaction that needs a table for itself. It waits for half a second and tries again later.

        Whoever comes after a statement that waits for a lock waits behind it, so it must not wait for long.
        """
        for _ in range(_TRIES):
            try:
                with self.connection.transaction():
                    self.check_held()
                    self.run("SET LOCAL lock_timeout = '500ms'")
                    work()
            except (errors.LockNotAvailable, errors.DeadlockDetected):
                time.sleep(_WAIT_SECONDS)
            else:
                return
        by = "SELECT DISTINCT pid FROM pg_locks WHERE relation = %s::oid AND granted AND pid <> pg_backend_pid()"
        pids = [pid for (pid,) in self.rows(by, [self._held or 0])]
        raise EngineError(f"other transactions never left the table: end them and try again; processes {pids}")

    def close(self) -> None:
        """End the connection, and give the lock back, which a pooler would keep."""
        try:
            if self._held is not None and not self.connection.closed:
                self.run("SELECT pg_advisory_unlock_all()")
        except psycopg.Error:
            pass  # the connection is lost, and the lock with it
        finally:
            self.connection.close()
