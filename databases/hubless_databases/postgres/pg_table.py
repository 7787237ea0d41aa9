"""A table of PostgreSQL as the catalog describes it: where it is, its columns, and the corrections that it has."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from psycopg import sql

from hubless.errors import InputError
from hubless.kernels.forks import cached_property
from hubless_databases.address_checks import chosen
from hubless_databases.postgres.session import PgSession

FITS = "hubless_fits"
"""The table of fits that the corrections of a schema share."""
WHOLE, TEXTS = ("smallint", "integer", "bigint"), ("text", "character varying", "uuid")
"""Types of ids."""
VECTOR_KINDS = ("vector", "halfvec")
_LONGEST_NAME = 63
"""Bytes of a name; PostgreSQL cuts the rest."""
_QUOTED = re.compile(r'(?:"(?:[^"]|"")+"|[^".]+)(?:\.(?:"(?:[^"]|"")+"|[^".]+))?')
_PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')

_EXTENSION = """
SELECT n.nspname, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'vector'
"""
_FOUND = """
SELECT c.oid::int8, n.nspname, c.relname, c.relkind::text, n.oid::int8 FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND
"""
_WITH_VECTORS = """
SELECT DISTINCT CASE WHEN pg_table_is_visible(c.oid) THEN '' ELSE n.nspname || '.' END || c.relname FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
WHERE t.typname IN ('vector', 'halfvec') AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1
"""
_COLUMNS = """
SELECT a.attname, CASE WHEN t.typnamespace = v.oid AND t.typname IN ('vector', 'halfvec') THEN t.typname::text
ELSE format_type(t.oid, NULL) END, CASE WHEN d.typbasetype <> 0 THEN d.typtypmod ELSE a.atttypmod END,
a.attgenerated <> '', coalesce(a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]), false)
FROM pg_attribute a JOIN pg_type d ON d.oid = a.atttypid
JOIN pg_type t ON t.oid = coalesce(nullif(d.typbasetype, 0), d.oid)
LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
CROSS JOIN pg_namespace v WHERE v.nspname = %s AND a.attrelid = %s::oid AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_RUNS = """
SELECT t.tgname, encode(t.tgargs, 'escape'), n.nspname, ARRAY(
    SELECT a.attname::text FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    WHERE d.classid = 'pg_trigger'::regclass AND d.objid = t.oid AND d.refclassid = 'pg_class'::regclass
)
FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE t.tgrelid = %s::oid AND t.tgnargs = 3 AND p.proname LIKE 'hubless\\_stale\\_%%'
"""


@dataclass(frozen=True)
class PgColumn:
    """A column: its type, the numbers that its type allows (−1 for any), and if it is computed or in the key."""

    kind: str
    typmod: int
    generated: bool
    key: bool


@dataclass(frozen=True)
class PgRun:
    """A run of a correction, as its trigger names it. It is the current one of its name once its fit is stored.

    Until then its vectors stand in `column`. `schema` has what it made beside the table; `sources` are the columns that
    its vectors come from.
    """

    into: str
    column: str
    id: str
    trigger: str
    schema: str
    sources: list[str]
    is_current: bool = False


@dataclass(frozen=True)
class Chosen:
    """The columns of ids and vectors, and the type and the numbers of the corrected vectors."""

    key: str
    source: str
    kind: str
    width: int


class PgTable:
    """The table of an address, as the catalog describes it."""

    def __init__(self, session: PgSession, address: str) -> None:
        extension = session.run(_EXTENSION).fetchone()
        if extension is None:
            raise InputError("address", "a database with the extension vector", "one without: CREATE EXTENSION vector")
        self.session = session
        self.vectors, self.version = extension
        self.oid, self.schema, self.table, self.relkind, self.schema_oid = self._resolved(address)

    @property
    def name(self) -> tuple[str, str]:
        return self.schema, self.table

    @property
    def shown(self) -> str:
        return f"{self.schema}.{self.table}"

    def _resolved(self, address: str) -> tuple[int, str, str, str, int]:
        """Return the table that an address names: TABLE, SCHEMA.TABLE, or either in double quotes as in SQL."""
        found: dict[int, tuple[int, str, str, str, int]] = {}
        for schema, table in _readings(address):
            place = sql.SQL("n.nspname = {} AND c.relname = {}").format(sql.Literal(schema), sql.Literal(table))
            if schema is None:
                quoted = sql.Literal(sql.Identifier(table).as_string(self.session.connection))
                place = sql.SQL("c.oid = to_regclass({})").format(quoted)
            found |= {row[0]: row for row in self.session.rows(_FOUND + "{place}", place=place)}
        if len(found) > 1:
            both = " or ".join(f'"{schema}"."{table}"' for _, schema, table, *_ in found.values())
            raise InputError("table", both, address)
        if not found:
            names = [name for (name,) in self.session.rows(_WITH_VECTORS)]
            raise InputError(
                "table", f"one of {', '.join(names)}" if names else "a table with a vector column", address
            )
        return next(iter(found.values()))

    def reread(self) -> None:
        """Forget what was read: the table has changed."""
        self.__dict__.pop("columns", None)
        self.__dict__.pop("runs", None)

    @cached_property
    def columns(self) -> dict[str, PgColumn]:
        return {name: PgColumn(*facts) for name, *facts in self.session.rows(_COLUMNS, [self.vectors, self.oid])}

    @cached_property
    def runs(self) -> list[PgRun]:
        """Runs of corrections. Those that are not current never ended."""
        found = []
        for trigger, given, schema, sources in self.session.rows(_RUNS, [self.oid]):
            into, column, run, *_ = given.split("\\000")
            found.append(PgRun(into, column, run, trigger, schema, sources))
        return [replace(run, is_current=self._is_current(run)) for run in found]

    def _is_current(self, run: PgRun) -> bool:
        # who may not read the fits can take the column for what it looks like
        return run.into in self.columns and (not self.can_read_fits(run.schema) or self.fit(run) is not None)

    def can_read_fits(self, schema: str) -> bool:
        """Return True if a schema has a table of fits, and this role may read it."""
        fits = self.session.text((schema, FITS))
        return self.exists(schema, FITS) and bool(self.session.one("SELECT has_table_privilege(%s, 'SELECT')", [fits]))

    def current(self, into: str) -> PgRun | None:
        """Return the run whose vectors stand in the column of this name; None if there is none."""
        return next((run for run in self.runs if run.into == into and run.is_current), None)

    def fit(self, run: PgRun) -> bytes | None:
        found = "SELECT fit FROM {fits} WHERE relation = %s AND name = %s"
        fit = self.session.one(found, [run.id, run.into], fits=(run.schema, FITS))
        return None if fit is None else bytes(fit)

    def exists(self, schema: str, name: str) -> bool:
        """Return True if a schema has a table, an index or a function of this name."""
        found = """
            SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = %s AND c.relname = %s) OR EXISTS (SELECT FROM pg_proc p
            JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = %s AND p.proname = %s)
        """
        return bool(self.session.one(found, [schema, name, schema, name]))

    @property
    def ours(self) -> set[str]:
        """Columns that corrections made."""
        return {run.column for run in self.runs} | {run.into for run in self.runs if run.is_current}

    def source(self, given: str | None) -> str:
        """Return the column of the vectors."""
        kinds = [name for name, one in self.columns.items() if one.kind in VECTOR_KINDS and name not in self.ours]
        return chosen(given, kinds, "a column of type vector or halfvec")

    def key(self, given: str | None) -> str:
        """Return the column of the ids."""
        key = [name for name, column in self.columns.items() if column.key]
        name = given or (key[0] if len(key) == 1 else None)
        if name is None:
            raise InputError("id", "a primary key of one column, or ?id=COLUMN", f"a key of {len(key)} columns")
        if name not in self.columns:
            raise InputError("id", f"one of {', '.join(self.columns)}", name)
        if self.columns[name].kind not in (*WHOLE, *TEXTS):
            raise InputError(f"id ({name})", f"a column of type {', '.join((*WHOLE, *TEXTS))}", self.columns[name].kind)
        return name

    def derived(self, into: str, what: str) -> str:
        """Return the name of a thing of a correction: TABLE_INTO_WHAT, with a hash if that is too long or taken."""
        name = f"{self.table}_{into}_{what}"
        if len(name.encode()) <= _LONGEST_NAME and not self.exists(self.schema, name):
            return name
        end = f"_{sha256(repr((self.table, into, what)).encode()).hexdigest()[:8]}_{into}_{what}"
        return self.table.encode()[: _LONGEST_NAME - len(end)].decode(errors="ignore") + end


def _readings(address: str) -> Iterator[tuple[str | None, str]]:
    """Yield the schema and the table that an address can mean; no schema stands for the search path."""
    yield None, address
    for dot in (place for place, letter in enumerate(address) if letter == "."):
        if address[:dot] and address[dot + 1 :]:
            yield address[:dot], address[dot + 1 :]
    if '"' in address and _QUOTED.fullmatch(address):
        *schema, table = [quoted.replace('""', '"') or plain for quoted, plain in _PART.findall(address)]
        yield schema[0] if schema else None, table
