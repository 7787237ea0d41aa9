"""PostgreSQL with pgvector: a column beside the others, an index, and functions in SQL."""

from collections.abc import Iterator, Sequence
from typing import Any, LiteralString

import numpy as np
import psycopg
from psycopg import sql

from hubless.databases.addresses import DatabaseAddress, check_options
from hubless.databases.base import PAGE, Asking, Database, Page, RowId, as_matrix, chosen, unpacked
from hubless.errors import InputError, one_line
from hubless.vectors.arrays import F32

BANK = "hubless_bank"
_SOFTMAX = ("auto", "is", "sn", "dbsn")

TABLE = f"CREATE TABLE IF NOT EXISTS {BANK} (relation text, name text, query vector, potential float8)"
FUNCTION = """
CREATE OR REPLACE FUNCTION {function}() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    changed bigint;
BEGIN
    WITH new AS (
        SELECT {id} AS id, {unit} AS t FROM {table} WHERE {into} IS NULL AND {source} IS NOT NULL
    ), terms AS (
        SELECT id, t, z, max(z) OVER (PARTITION BY id) AS top FROM new, LATERAL (
            SELECT -(b.query <#> t) / {temperature} + b.potential AS z FROM {bank} b
            WHERE b.relation = {relation} AND b.name = {name}
        ) b
    ), sums AS (
        SELECT id, t, {temperature} * (top + ln(sum(exp(z - top)))) - ({topic}) - {level} AS x
        FROM terms GROUP BY id, t, top
    ), shares AS (
        SELECT *, least(1, greatest(0, (x - {low}) / ({high} - {low}))) AS u FROM sums
    ), offsets AS (
        SELECT id, t, {shrinkage} * (x + {level}) + {kept} * u * u * (3 - 2 * u) * (x - {centre}) - {constant} AS h
        FROM shares
    )
    UPDATE {table} AS r SET {into} = (o.t || ARRAY[-o.h]::float8[]::vector)::{type} FROM offsets o WHERE r.{id} = o.id;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END $$
"""


def bank_of(fit: bytes) -> tuple[list[tuple[str, float]], dict[str, str]] | None:
    """Return the bank as rows of vector and potential, and the numbers of the formula; None if it is another one."""
    state, about = unpacked(fit)
    details = about["details"]
    if about["correction"] not in _SOFTMAX or "prior_median" in details:
        return None
    bank = state["bank"]
    potentials = state.get("potentials", np.zeros(len(bank)))
    temperature, shrinkage = float(details["temperature"]), float(details["shrinkage"])
    centre, low, high = state.get("outlying", np.array([0.0, 0.0, 1.0])).tolist()
    topic = state.get("topic")
    numbers = {
        "temperature": temperature,
        "shrinkage": shrinkage,
        "level": temperature * float(potentials.mean()),
        "kept": 1 - shrinkage if "outlying" in state else 0.0,
        "centre": centre,
        "low": low,
        "high": high,
        "constant": float(state["centre"]),
    }
    written = {name: f"({value!r}::float8)" for name, value in numbers.items()}
    written["topic"] = "0" if topic is None else f"-('{np.asarray(topic, np.float32).tolist()}'::vector <#> t)"
    rows = [(str(row.tolist()), float(one)) for row, one in zip(bank, potentials, strict=True)]
    return rows, written


MOST_INDEXED = {"vector": 2_000, "halfvec": 4_000}
"""Numbers of a vector that an HNSW index takes."""
_WHOLE, _TEXTS = ("smallint", "integer", "bigint"), ("text", "character varying", "uuid")
_FITS = "hubless_fits"

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, NULL), a.attname = ANY (k.key) FROM pg_attribute a, LATERAL (
    SELECT coalesce(array_agg(b.attname), '{}') AS key FROM pg_index i
    JOIN pg_attribute b ON b.attrelid = i.indrelid AND b.attnum = ANY (i.indkey)
    WHERE i.indrelid = a.attrelid AND i.indisprimary) k
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_QUERY = """
CREATE OR REPLACE FUNCTION hub_query(q vector, strength float8 DEFAULT 1, metric text DEFAULT 'cosine') RETURNS vector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE metric WHEN 'dot' THEN q ELSE l2_normalize(q) END || ARRAY[strength]::float8[]::vector
$$
"""
_STALE = """
CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.{source} IS DISTINCT FROM OLD.{source} THEN NEW.{into} := NULL; END IF;
    RETURN NEW;
END $$
"""


class PgvectorTable(Database):
    """A table of PostgreSQL. The address may leave out what PGHOST, PGPASSWORD and so on say."""

    title = "PostgreSQL with pgvector"

    def __init__(self, address: DatabaseAddress) -> None:
        check_options(address, "vector", "id", "host")
        given: dict[str, Any] = {"host": address.options.get("host", address.host), "port": address.port}
        given |= {"user": address.user, "password": address.password, "dbname": address.path.strip("/")}
        try:
            self._connection = psycopg.connect(autocommit=True, **{name: one for name, one in given.items() if one})
        except psycopg.Error as error:
            raise InputError("address", "a PostgreSQL that lets you in", one_line(error)) from error
        self.name, self._id, self._vector, self._options = address.table, "", "", address.options
        self._table = sql.Identifier(*self.name.split("."))

    def find(self) -> None:
        self._columns = self._read_columns()
        self._vector, self.type = self._source(self._options.get("vector"))
        self._id, self._id_type = self._key(self._options.get("id"))

    def _run(self, statement: LiteralString, values: Sequence[Any] = (), **names: str | sql.Composable) -> Any:
        return self._connection.execute(self._composed(statement, **names), values or None)

    def _composed(self, statement: LiteralString, **names: str | sql.Composable) -> sql.Composed:
        known: dict[str, Any] = {
            "table": self._table,
            "id": sql.Identifier(self._id),
            "source": sql.Identifier(self._vector),
        }
        known |= {name: sql.Identifier(one) if isinstance(one, str) else one for name, one in names.items()}
        return sql.SQL(statement).format(**known)

    def _read_columns(self) -> dict[str, tuple[str, bool]]:
        quoted = self._table.as_string(self._connection)
        if self._connection.execute("SELECT to_regclass(%s)", [quoted]).fetchone() == (None,):
            rows = self._connection.execute(
                "SELECT DISTINCT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid JOIN pg_type"
                " ON pg_type.oid = atttypid WHERE typname IN ('vector', 'halfvec') AND relkind IN ('r', 'p')"
            ).fetchall()
            names = sorted({name for (name,) in rows} - {BANK})
            expected = f"one of {', '.join(names)}" if names else "a table with a vector column"
            raise InputError("table", expected, self.name)
        rows = self._connection.execute(_COLUMNS, [quoted]).fetchall()
        return {name: (kind, key) for name, kind, key in rows}

    def _source(self, given: str | None) -> tuple[str, str]:
        ours = self._ours()
        kinds = {name: kind for name, (kind, _) in self._columns.items() if kind in MOST_INDEXED and name not in ours}
        name = chosen(given, kinds, "a column of type vector or halfvec")
        return name, kinds[name]

    def _key(self, given: str | None) -> tuple[str, str]:
        key = [name for name, (_, is_key) in self._columns.items() if is_key]
        name = given or (key[0] if len(key) == 1 else None)
        if name is None:
            raise InputError("id", "a primary key of one column, or ?id=COLUMN", f"a key of {len(key)} columns")
        if name not in self._columns:
            raise InputError("id", f"one of {', '.join(self._columns)}", name)
        kind = self._columns[name][0]
        if kind not in (*_WHOLE, *_TEXTS):
            raise InputError(f"id ({name})", f"a column of type {', '.join((*_WHOLE, *_TEXTS))}", kind)
        return name, kind

    def _written(self) -> list[str]:
        if self._run("SELECT to_regclass(%s)", [_FITS]).fetchone() == (None,):
            return []
        rows = self._run("SELECT name FROM {fits} WHERE relation = %s", [self.name], fits=_FITS).fetchall()
        return [name for (name,) in rows]

    def _ours(self) -> set[str]:
        return {each for name in self._written() for each in (name, f"{name}_new")}

    def count(self) -> int:
        with self._connection.transaction():
            return int(self._run("SELECT count(*) FROM {table}").fetchone()[0])

    def pages(self, *, lacking: str | None = None, payload: bool = True) -> Iterator[Page]:
        left_out = {self._id, self._vector, *self._ours()}
        names = [name for name in self._columns if name not in left_out] if payload else []
        chosen = sql.SQL(", ").join(
            [
                sql.Identifier(self._id),
                sql.SQL("{}::real[]").format(sql.Identifier(self._vector)),
                *map(sql.Identifier, names),
            ]
        )
        statement = "SELECT {chosen} FROM {table} WHERE {source} IS NOT NULL AND {condition}"
        condition = sql.SQL("TRUE" if lacking is None else "{} IS NULL").format(sql.Identifier(lacking or self._vector))
        known = {"chosen": chosen, "condition": condition}
        # a cursor of the server sees the table as it was when it was opened
        with self._connection.transaction(), self._connection.cursor("hubless", binary=True) as cursor:
            cursor.execute(self._composed(statement, **known))
            while rows := cursor.fetchmany(PAGE):
                ids = [one if isinstance(one, int) else str(one) for one, *_ in rows]
                payload_rows = [dict(zip(names, others, strict=True)) for _, _, *others in rows]
                yield Page(ids, as_matrix([row[1] for row in rows], self._vector), payload_rows)

    def begin(self, into: str, width: int) -> None:
        if into in self._columns and into not in self._written():
            raise InputError("into", "a name that no column has yet", into)
        kind = "vector" if self.type == "vector" and width <= MOST_INDEXED["vector"] else "halfvec"
        with self._connection.transaction():
            self._connection.execute(
                f"CREATE TABLE IF NOT EXISTS {_FITS}"
                " (relation text, name text, fit bytea, made timestamptz, PRIMARY KEY (relation, name))"
            )
            self._run(
                "INSERT INTO {fits} (relation, name) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                [self.name, into],
                fits=_FITS,
            )
            new = sql.Identifier(f"{into}_new")
            self._run("ALTER TABLE {table} DROP COLUMN IF EXISTS {new}", new=new)
            self._run("ALTER TABLE {table} ADD COLUMN {new} {type}", new=new, type=sql.SQL(f"{kind}({width})"))

    def write(self, into: str, ids: Sequence[RowId], augmented: F32, *, live: bool = False) -> int:
        column = into if live else f"{into}_new"
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute("CREATE TEMP TABLE IF NOT EXISTS hubless_page (id text, vector text) ON COMMIT DROP")
            with cursor.copy("COPY hubless_page FROM STDIN") as copy:
                for each, row in zip(ids, augmented, strict=True):
                    copy.write_row((str(each), str(row.tolist())))
            # the trigger looks at the column of the vectors only
            statement = (
                "UPDATE {table} AS t SET {column} = p.vector::{type} FROM hubless_page AS p WHERE t.{id} = p.id::{key}"
            )
            kind = sql.SQL("halfvec" if self._kind(column) == "halfvec" else "vector")
            cursor.execute(self._composed(statement, column=column, type=kind, key=sql.SQL(self._id_type)))
            return int(cursor.rowcount)

    def swap(self, into: str, fit: bytes, asking: Asking) -> None:
        new, kind = f"{into}_new", self._kind(f"{into}_new")
        index = f"{self.name.rpartition('.')[2]}_{into}_index"
        function = f"{self.name.rpartition('.')[2]}_{into}_stale"
        self._run("SET statement_timeout = 0")
        if asking.width <= MOST_INDEXED[kind]:
            # inner product, as a cosine would divide by the length, and the offset with it
            operators = sql.SQL(f"{kind}_ip_ops")
            made = "CREATE INDEX {index} ON {table} USING hnsw ({new} {operators})"
            self._run("DROP INDEX IF EXISTS {index}", index=f"{index}_new")
            self._run(made, index=f"{index}_new", new=new, operators=operators)
        with self._connection.transaction():
            self._run("ALTER TABLE {table} DROP COLUMN IF EXISTS {into}", into=into)
            self._run("ALTER TABLE {table} RENAME COLUMN {new} TO {into}", new=new, into=into)
            self._run("ALTER INDEX IF EXISTS {new} RENAME TO {index}", new=f"{index}_new", index=index)
            self._connection.execute(_QUERY)
            self._run(_STALE, function=function, into=into)
            made = "CREATE OR REPLACE TRIGGER {function} BEFORE UPDATE ON {table} FOR EACH ROW "
            trigger = made + "EXECUTE FUNCTION {function}()"
            self._run(trigger, function=function)
            self._run(
                "UPDATE {fits} SET fit = %s, made = now() WHERE relation = %s AND name = %s",
                [fit, self.name, into],
                fits=_FITS,
            )
            self._make_refresh(into, fit, asking)

    def _make_refresh(self, into: str, fit: bytes, asking: Asking) -> None:
        names: dict[str, str | sql.Composable] = {
            "function": f"{self.name.rpartition('.')[2]}_{into}_refresh",
            "bank": BANK,
            "relation": sql.Literal(self.name),
            "name": sql.Literal(into),
            "into": into,
        }
        self._connection.execute(TABLE)
        self._run("DELETE FROM {bank} WHERE relation = {relation} AND name = {name}", (), **names)
        if (found := bank_of(fit)) is None:
            self._run("DROP FUNCTION IF EXISTS {function}()", (), **names)
            return
        rows, numbers = found
        with self._connection.cursor().copy(self._composed("COPY {bank} FROM STDIN", **names)) as copy:
            for row, potential in rows:
                copy.write_row((self.name, into, row, potential))
        unit = sql.SQL("l2_normalize({}::vector)" if asking.metric == "cosine" else "{}::vector")
        names |= {"unit": unit.format(sql.Identifier(self._vector)), "type": sql.SQL(self._kind(into))}
        names |= {name: sql.SQL(text) for name, text in numbers.items()}
        self._run(FUNCTION, (), **names)

    def fit(self, into: str) -> bytes | None:
        with self._connection.transaction():
            if into not in self._written():
                return None
            found = self._run("SELECT fit FROM {fits} WHERE relation = %s AND name = %s", [self.name, into], fits=_FITS)
            return next((bytes(fit) for (fit,) in found if fit is not None), None)

    def undo(self, into: str | None) -> list[str]:
        gone, bare = [], self.name.rpartition(".")[2]
        for name in [each for each in self._written() if into in (None, each)]:
            with self._connection.transaction():
                for column in (name, f"{name}_new"):
                    if column in self._read_columns():
                        self._run("ALTER TABLE {table} DROP COLUMN {column}", column=column)
                        gone.append(f"column {column}")
                self._run("DROP FUNCTION IF EXISTS {one}() CASCADE", one=f"{bare}_{name}_stale")
                self._run("DROP FUNCTION IF EXISTS {one}()", one=f"{bare}_{name}_refresh")
                self._run("DELETE FROM {fits} WHERE relation = %s AND name = %s", [self.name, name], fits=_FITS)
                if self._run("SELECT to_regclass(%s)", [BANK]).fetchone() != (None,):
                    self._run("DELETE FROM {bank} WHERE relation = %s AND name = %s", [self.name, name], bank=BANK)
            gone.append(f"functions {bare}_{name}_stale and {bare}_{name}_refresh, and the stored fit of {name}")
        return gone

    def query_lines(self, into: str, asking: Asking) -> str:
        metric = ", 'dot'" if asking.metric == "dot" else ""
        asked = f"hub_query(%(q)s, {asking.strength:g}{metric})"
        if self._kind(into) == "halfvec":
            asked += f"::halfvec({asking.width})"
        name = self._composed("{table}").as_string(self._connection)
        column, key = (sql.Identifier(one).as_string(self._connection) for one in (into, self._id))
        return (
            "-- once a session: SET hnsw.ef_search = 400; SET hnsw.iterative_scan = strict_order;\n"
            f"SELECT {key}, -({column} <#> {asked}) AS score\n"
            f"FROM {name} WHERE true ORDER BY {column} <#> {asked} LIMIT 10"
        )

    def _kind(self, column: str) -> str:
        kind = self._run(
            "SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s",
            [self._table.as_string(self._connection), column],
        ).fetchone()
        return kind[0] if kind else "vector"

    def close(self) -> None:
        self._connection.close()
