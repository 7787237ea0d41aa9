"""PostgreSQL with pgvector: a column beside the others, an index, and functions in SQL."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import psycopg
from psycopg import errors, sql

from hubless.errors import EngineError, InputError
from hubless.vectors.arrays import F32
from hubless_databases.address_checks import check_options
from hubless_databases.addresses import DatabaseAddress
from hubless_databases.base import PAGE, Asking, Database, Page, RowId, unpacked
from hubless_databases.postgres.checks import (
    check_ids,
    check_kind,
    check_lengths,
    check_new,
    check_table,
    check_vectors,
    check_written,
)
from hubless_databases.postgres.confidence import confidence_functions, make_confidence
from hubless_databases.postgres.functions import make_ask
from hubless_databases.postgres.own_schema import drop_shared, hold_schema, make_shared, remove_lost
from hubless_databases.postgres.pg_table import FITS, Chosen, PgRun, PgTable
from hubless_databases.postgres.session import PgSession
from hubless_databases.postgres.writing import add_run, build_hnsw, exchange, remove_run, write_rows
from hubless_databases.rows_in_pages import as_matrix, metric_of

MOST_INDEXED = {"vector": 2_000, "halfvec": 4_000}
"""Numbers of a vector that an HNSW index takes."""


class PgvectorTable(Database):
    """A table of PostgreSQL. The address may leave out what PGHOST, PGPASSWORD and so on say."""

    title = "PostgreSQL with pgvector"

    def __init__(self, address: DatabaseAddress) -> None:
        check_options(address, "vector", "id", "host")
        given: dict[str, Any] = {"host": address.options.get("host", address.host), "port": address.port}
        given |= {"user": address.user, "password": address.password, "dbname": address.path.strip("/")}
        self._session = PgSession(**{name: one for name, one in given.items() if one})
        self._address = address
        self._metric = "cosine"
        self._run: PgRun | None = None

    def find(self) -> None:
        self._table = PgTable(self._session, self._address.table)
        self._source = self._table.source(self._address.options.get("vector"))
        self._key = self._table.key(self._address.options.get("id"))

    def prepare(self, into: str, metric: str | None, *, reads: bool = True) -> None:
        """Hold the table, and check all that can be known before rows are read. Raises `InputError`."""
        table = self._table
        session = self._session
        check_kind(table)
        session.hold(table.oid, table.shown)
        table.reread()  # another run may have ended just now
        current = table.current(into)
        if metric is None:
            if current is None:
                return
            check_written(session, table, current, self._source)
            metric = metric_of(self.fit(into) or b"")
        else:
            check_table(session, table)
            check_new(session, table, into)
        self._metric = metric
        check_ids(session, table, self._key)
        if reads:
            lacking = self._lacking(None if current is None else into)
            check_vectors(session, table, self._key, self._source, lacking, metric)

    def count(self) -> int:
        return int(self._session.one("SELECT count(*) FROM {table}", table=self._table.name))

    def pages(self, *, lacking: str | None = None, payload: bool = True) -> Iterator[Page]:
        """Yield rows with a vector, page by page, as the table was at the start; or those that lack a corrected one."""
        table = self._table
        source = self._source
        if table.columns[source].typmod < 0:
            check_lengths(self._session, table, self._key, source)
        left_out = {self._key, source, *table.ours}
        names = [name for name in table.columns if name not in left_out] if payload else []
        others = sql.SQL("").join([self._session.composed(", {name}", name=name) for name in names])
        read = "SELECT {key}, {source}::real[]{others} FROM {table} WHERE {source} IS NOT NULL AND {lacking}"
        statement = self._session.composed(
            read, key=self._key, source=source, others=others, table=table.name, lacking=self._lacking(lacking)
        )
        # a cursor of the server sees the table as it was when it was opened
        connection = self._session.connection
        with connection.transaction(), connection.cursor("hubless", binary=True) as cursor:
            cursor.execute(statement)
            while rows := cursor.fetchmany(PAGE):
                ids = [one if isinstance(one, int) else str(one) for one, *_ in rows]
                payload_rows = [dict(zip(names, values, strict=True)) for _, _, *values in rows]
                yield Page(ids, as_matrix([row[1] for row in rows], source), payload_rows)

    def _lacking(self, into: str | None) -> sql.Composable:
        return sql.SQL("true") if into is None else self._session.composed("{into} IS NULL", into=into)

    def begin(self, into: str, width: int) -> None:
        table = self._table
        session = self._session
        typmod = table.columns[self._source].typmod
        if typmod not in (-1, width - 1):
            raise InputError("vectors", f"{typmod} dimensions, as the column {self._source} has", width - 1)
        self._to = self._chosen(width)
        check_new(session, table, into, f"{self._to.kind}({width})")
        self._clean()

        def add() -> None:
            hold_schema(session, table.schema)
            make_shared(session, table)
            self._run = add_run(session, table, into, self._to)

        session.patiently(add)
        table.reread()

    def _chosen(self, width: int) -> Chosen:
        exact = self._table.columns[self._source].kind == "vector" and width <= MOST_INDEXED["vector"]
        return Chosen(self._key, self._source, "vector" if exact else "halfvec", width)

    def _clean(self) -> None:
        """Remove what runs left that never ended, and what tables left that are gone."""
        gone: list[str] = []
        self._session.patiently(lambda: gone.extend(self._removed(lambda run: not run.is_current)))
        self._table.reread()

    def _removed(self, asked: Callable[[PgRun], bool]) -> list[str]:
        """Remove some runs, and what belongs to tables that are gone. Return the names of what went."""
        table = self._table
        gone = []
        for schema in sorted({table.schema, *(run.schema for run in table.runs)}):
            hold_schema(self._session, schema)
        for run in filter(asked, table.runs):
            gone += remove_run(self._session, table, run, run.into if run.is_current else run.column)
        return gone + remove_lost(self._session, table)

    def write(self, into: str, ids: Sequence[RowId], augmented: F32, *, live: bool = False) -> int:
        if live:
            self._to = self._chosen(augmented.shape[1])
        column = into if live or self._run is None else self._run.column
        return write_rows(self._session, self._table, column, self._to, self._metric, ids, augmented)

    def swap(self, into: str, fit: bytes, asking: Asking) -> None:
        """Build the index of the new column, then let it take the place of the old one in a transaction."""
        session = self._session
        table = self._table
        run = self._run
        kind = self._to.kind
        if run is None:
            raise RuntimeError("begin comes before swap")
        operators = "l2_ops" if asking.by_distance else "ip_ops"
        index = build_hnsw(session, table, run, kind, operators) if asking.width <= MOST_INDEXED[kind] else None

        def end() -> None:
            hold_schema(session, run.schema)
            old = table.current(into)
            make_ask(session, table)
            exchange(session, table, run, old, index)
            if (cut := unpacked(fit)[1].get("cut")) is not None:
                make_confidence(session, table, run, cut)
            stored = "UPDATE {fits} SET fit = %s, made = now() WHERE relation = %s AND name = %s"
            session.run(stored, [fit, run.id, into], fits=(run.schema, FITS))
            if old is not None and old.schema != run.schema:
                drop_shared(session, table, old.schema)

        session.patiently(end)
        self._run = None
        table.reread()

    def fit(self, into: str) -> bytes | None:
        current = self._table.current(into)
        if current is None:
            return None
        if not self._table.can_read_fits(current.schema):
            raise InputError("address", f"a role that may read {current.schema}.{FITS}", "one that may not")
        return self._table.fit(current)

    def finish(self, into: str) -> None:
        pass

    def undo(self, into: str | None) -> list[str]:
        """Take away columns, functions and fits that corrections made, all or those of one, and return their names."""
        table = self._table
        session = self._session
        if table.relkind not in ("r", "p"):
            return []
        session.hold(table.oid, table.shown)
        table.reread()
        gone: list[str] = []

        def remove() -> None:
            gone.clear()
            gone.extend(self._removed(lambda run: not run.is_current or into in (None, run.into)))
            for schema in sorted({table.schema, *(run.schema for run in table.runs)}):
                gone.extend(drop_shared(session, table, schema))

        try:
            session.patiently(remove)
        except (errors.DependentObjectsStillExist, errors.InsufficientPrivilege) as error:
            said = " ".join(filter(None, (error.diag.message_primary, error.diag.message_detail))).replace("\n", "; ")
            raise InputError("undo", "a role that owns the table, and nothing that uses what goes", said) from error
        return gone

    def query_lines(self, into: str, asking: Asking) -> str:
        """Return the SQL that asks the corrected vectors, and what to run once a session and after writes."""
        session = self._session
        table = self._table
        vectors = self._prefix(table.vectors)
        operator = "<->" if asking.by_distance else "<#>"
        product = operator if not vectors else f"OPERATOR({vectors}{operator})"
        metric = "" if asking.metric == "cosine" else ", 'dot'"
        asked = f"{self._prefix(table.schema)}hub_query(%(q)s, {asking.last:g}{metric})"
        if table.columns[into].kind == "halfvec":
            asked += f"::{vectors}halfvec({asking.width})"
        column, key, name = (session.text(one) for one in (into, self._key, table.table))
        score = f"-({column} {product} {asked})"
        if asking.by_distance:
            score = f"-power({column} {product} {asked}, 2) / 2"
        lines = ["-- once a session: SET hnsw.ef_search = 400; SET hnsw.iterative_scan = strict_order;"]
        lines += [
            f"SELECT {key}, {score} AS score",
            f"FROM {self._prefix(table.schema)}{name} WHERE true ORDER BY {column} {product} {asked} LIMIT 10",
        ]
        return "\n".join(lines)

    def answer_lines(self, into: str, asking: Asking, cut: Mapping[str, Any]) -> str:
        run = self._table.current(into)
        made = [] if run is None else confidence_functions(self._session, run)
        if not made:
            return ""
        schema, name, _ = made[-1]
        function = f"{self._prefix(schema)}{self._session.text(name)}"
        return f"SELECT {function}(array_agg(score ORDER BY score DESC)) FROM (the SELECT above) AS hits"  # noqa: S608

    def _prefix(self, schema: str) -> str:
        """Return a schema as it stands before a name; nothing if the search path has it."""
        seen = self._session.one("SELECT %s = ANY (current_schemas(true))", [schema])
        return "" if seen else f"{self._session.text(schema)}."

    def close(self) -> None:
        try:
            if self._run is not None and not self._session.connection.closed:
                self._table.reread()
                self._clean()
        except (psycopg.Error, EngineError):
            pass  # the next run does it
        finally:
            self._session.close()
