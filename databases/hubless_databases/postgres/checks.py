"""Checks of a PostgreSQL table before the work: of rights, of the kind of table, and of rows that do not fit."""

from collections.abc import Callable
from typing import Any

from psycopg.rows import namedtuple_row

from hubless.errors import InputError, ZeroVector
from hubless_databases.postgres.pg_table import FITS, PgRun, PgTable
from hubless_databases.postgres.session import Name, PgSession
from hubless_databases.postgres.writing import firing

OLDEST = (0, 7)
"""The first pgvector with `l2_normalize`, `halfvec` and `subvector`."""
_MOST_COLUMNS = 1_598
"""A table has 1,600 columns in its life, the dropped ones included; a correction takes one."""
_SHOWN = 3
_KINDS = {"v": "a view", "m": "a materialised view", "f": "a foreign table"}

_USED_BY = {"m": "the materialised view ", "r": "a rule of "}

_FACTS = """
SELECT pg_is_in_recovery() AS replica, current_setting('transaction_read_only') = 'on' AS read_only,
    current_setting('server_version_num')::int AS server, current_user AS role,
    has_schema_privilege(c.relnamespace, 'CREATE') AS creates, row_security_active(c.oid) AS hides_rows,
    c.reloftype <> 0 AS typed, (SELECT max(attnum) FROM pg_attribute WHERE attrelid = c.oid) AS columns,
    (SELECT inhparent::regclass::text FROM pg_inherits WHERE inhrelid = c.oid AND c.relispartition) AS parent,
    (SELECT min(inhrelid::regclass::text) FROM pg_inherits WHERE inhparent = c.oid AND c.relkind <> 'p') AS child,
    (SELECT min(rulename) FROM pg_rewrite WHERE ev_class = c.oid AND ev_type = '2' AND ev_enabled <> 'D') AS rule,
    (SELECT min(t.pubname) FROM pg_publication_tables t JOIN pg_class s ON s.oid = ANY (m.oids)
        AND s.relname = t.tablename AND s.relnamespace::regnamespace::text = quote_ident(t.schemaname)
        WHERE current_setting('wal_level') = 'logical' AND NOT EXISTS (
            SELECT FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
            WHERE p.pubname = t.pubname AND r.prrelid = s.oid AND to_jsonb(r) ->> 'prattrs' IS NOT NULL
        )) AS publication,
    (SELECT min(r.rolname) FROM pg_class o JOIN pg_roles r ON r.oid = o.relowner
        WHERE o.oid = ANY (m.oids) AND NOT pg_has_role(o.relowner, 'USAGE')) AS owner,
    (SELECT min(o.oid::regclass::text) FROM pg_class o WHERE o.oid = ANY (m.oids) AND o.relkind = 'f') AS foreign_part
FROM pg_class c CROSS JOIN LATERAL (
    WITH RECURSIVE parts AS (
        SELECT c.oid AS part UNION ALL SELECT i.inhrelid FROM pg_inherits i JOIN parts ON i.inhparent = parts.part
    ) SELECT array_agg(part) AS oids FROM parts
) m WHERE c.oid = %s::oid
"""
_SHARED = """
SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND NOT has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE')
"""
_USERS = """
SELECT coalesce(v.relkind::text, ''),
    coalesce(v.oid::regclass::text, pg_describe_object(d.classid, d.objid, d.objsubid)),
    coalesce(pg_has_role(v.relowner, 'USAGE'), false), format_type(a.atttypid, a.atttypmod)
FROM pg_attribute a JOIN pg_depend d ON d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
LEFT JOIN pg_class v ON v.oid = r.ev_class
LEFT JOIN pg_class x ON d.classid = 'pg_class'::regclass AND x.oid = d.objid
WHERE d.refclassid = 'pg_class'::regclass AND a.attrelid = %s::oid AND a.attname = %s
AND coalesce(obj_description(x.oid, 'pg_class'), '') <> %s AND coalesce(x.relname, '') <> %s
"""

CHECKS: tuple[tuple[Callable[[Any], Any], str, str, str], ...] = (
    (lambda f: f.replica, "address", "a server that takes writes", "a replica"),
    (lambda f: f.read_only, "address", "a role that may write", "{role}, whose transactions are read only"),
    (lambda f: f.server < 130_000, "address", "PostgreSQL 13 or later", "{server}"),
    (lambda f: f.parent, "table", "the partitioned table {parent}", "a partition of it"),
    (lambda f: f.child, "table", "a table from which no other inherits", "one from which {child} does"),
    (lambda f: f.typed, "table", "a table to which a column can be added", "one of a type"),
    (lambda f: f.foreign_part, "table", "partitions of this database", "the foreign table {foreign_part}"),
    (lambda f: f.owner, "address", "a role that owns the table, as {owner} does", "{role}"),
    (lambda f: f.rule, "table", "a table without rules for UPDATE", "the rule {rule}"),
    (
        lambda f: not f.creates,
        "address",
        "a role that may make functions in the schema of the table (GRANT CREATE ON SCHEMA)",
        "{role}",
    ),
    (
        lambda f: f.hides_rows,
        "address",
        "a role that sees all rows",
        "{role}, from whom row level security hides some",
    ),
    (lambda f: f.columns > _MOST_COLUMNS, "table", "fewer columns since it was made: make it anew", "{columns}"),
    (
        lambda f: f.publication,
        "table",
        "one that no publication sends whole, as subscribers lack the new column",
        "the publication {publication}; give it a list of columns",
    ),
)
"""Each check of a table: when it is refused, the parameter, what is expected, and what came."""


def check_kind(table: PgTable) -> None:
    """Raise `InputError` for a view and its like, and for a pgvector that is too old."""
    if table.relkind in _KINDS:
        raise InputError(
            "table", "a table; correct the one whose rows it shows", f"{_KINDS[table.relkind]}, {table.shown}"
        )
    if tuple(int(part) for part in table.version.split(".")[:2]) < OLDEST:
        raise InputError("address", "pgvector 0.7 or later (ALTER EXTENSION vector UPDATE)", table.version)


def check_table(session: PgSession, table: PgTable) -> None:
    """Raise `InputError` for the first of `CHECKS` that a table does not pass."""
    with session.connection.cursor(row_factory=namedtuple_row) as cursor:
        facts: Any = cursor.execute(_FACTS, [table.oid]).fetchone()
    for fails, parameter, expected, received in CHECKS:
        if fails(facts):
            said = facts._asdict()
            raise InputError(parameter, expected.format(**said), received.format(**said))
    for (name,) in session.rows(_SHARED, [table.schema, FITS]):
        grant = f"GRANT SELECT, INSERT, UPDATE, DELETE ON {name} TO {facts.role}"
        raise InputError("address", f"a role that may write {name} ({grant})", facts.role)


def check_new(session: PgSession, table: PgTable, into: str, kind: str | None = None) -> None:
    """Raise `InputError` if the column of a correction is the owner's, or used by more than views that can follow.

    Views follow to a column of the same type, `kind`.
    """
    current = table.current(into)
    taken = "SELECT attname FROM pg_attribute WHERE attrelid = %s::oid AND NOT attisdropped AND attname = %s"
    if current is None:
        if session.one(taken, [table.oid, into]) is not None:
            raise InputError("into", "a name that no column has yet", into)
        return
    about = f"hubless {current.id}"
    old_index = f"{table.table}_{into}_index"
    for relkind, name, is_ours, has in session.rows(_USERS, [table.oid, into, about, old_index]):
        if relkind != "v":
            expected = f"a column {into} that only views use: drop what uses it, or give another name"
            raise InputError("into", expected, f"one that {_USED_BY.get(relkind, '')}{name} uses")
        if not is_ours:
            raise InputError("address", f"a role that owns the view {name}, which uses {into}", "another")
        if kind is not None and has.rpartition(".")[2] != kind:
            raise InputError("into", f"a column of type {kind}: drop the view {name}, or give another name", has)


def check_written(session: PgSession, table: PgTable, current: PgRun, source: str) -> None:
    """Raise `InputError` if this role cannot write to a correction that is there, or it is one of another column."""
    may = "SELECT has_column_privilege(%s::oid, %s, 'UPDATE')"
    if not session.one(may, [table.oid, current.into]):
        raise InputError("address", f"a role that may update {current.into} of {table.shown}", "one that may not")
    if session.one("SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'"):
        raise InputError("address", "a server and a role that take writes", "one that only reads")
    if session.one("SELECT row_security_active(%s::oid)", [table.oid]):
        raise InputError("address", "a role that sees all rows", "one from whom row level security hides some")
    if current.sources and source not in current.sources and not table.columns[source].generated:
        raise InputError("vector", f"{', '.join(current.sources)}, of which {current.into} is the correction", source)
    owns = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = %s::oid"
    triggers = [trigger for *_, trigger, _ in firing(session, table, current.into)]
    if triggers and not session.one(owns, [table.oid]):
        expected = f"a role that owns the table, as the triggers {', '.join(triggers)} must not fire for what it writes"
        raise InputError("address", expected, "one that does not")


def check_ids(session: PgSession, table: PgTable, key: str) -> None:
    """Raise `InputError` if two rows have one id, or a row has none."""
    unique = """
        SELECT EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE i.indrelid = %s::oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indnkeyatts = 1
        AND a.attname = %s AND a.attnotnull)
    """
    if session.one(unique, [table.oid, key]):
        return
    found = session.rows(
        "SELECT {key}::text, count(*) FROM {table} GROUP BY {key} HAVING count(*) > 1 OR {key} IS NULL LIMIT 3",
        key=key,
        table=table.name,
    )
    if found:
        said = ", ".join("NULL" if value is None else f"{value} in {count} rows" for value, count in found)
        raise InputError(f"id ({key})", "a column of which each row has a value of its own", said)


def check_vectors(session: PgSession, table: PgTable, key: str, source: str, condition: Name, metric: str) -> None:
    """Raise `InputError` that names rows whose vector has another length than the others', or is zero under cosine."""
    names: dict[str, Name] = {"key": key, "table": table.name, "v": table.vectors, "source": source}
    names["where"] = condition
    if metric == "cosine":
        zero = "SELECT {key} FROM {table} WHERE {v}.vector_norm({source}::{v}.vector) = 0 AND {where} LIMIT %s"
        if found := session.rows(zero, [_SHOWN], **names):
            raise ZeroVector(f"vector ({source})", "vectors with a direction, or NULL", f"zeros at {_ids(key, found)}")
    if table.columns[source].typmod < 0:
        check_lengths(session, table, key, source)


def check_lengths(session: PgSession, table: PgTable, key: str, source: str) -> None:
    """Raise `InputError` that names rows whose vector has another length than most have."""
    odd = """
        WITH lengths AS (SELECT {key} AS id, {v}.vector_dims({source}) AS d FROM {table} WHERE {source} IS NOT NULL)
        SELECT id, d, most FROM lengths, (SELECT mode() WITHIN GROUP (ORDER BY d) AS most FROM lengths) m
        WHERE d <> most LIMIT %s
    """
    found = session.rows(odd, [_SHOWN], key=key, table=table.name, v=table.vectors, source=source)
    if found:
        said = ", ".join(f"{length} at {_ids(key, [(row,)])}" for row, length, _ in found)
        raise InputError(f"vector ({source})", f"vectors of one length, {found[0][2]} as most have", said)


def _ids(key: str, rows: list[Any]) -> str:
    return ", ".join(f"{key} {value}" for (value, *_) in rows)
