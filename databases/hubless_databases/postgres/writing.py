"""Writing to a PostgreSQL table: column and trigger of a run, its vectors, its index, and the exchange of columns."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from secrets import token_hex

from psycopg import sql

from hubless.vectors.arrays import F32
from hubless_databases.base import RowId
from hubless_databases.postgres.confidence import drop_confidence
from hubless_databases.postgres.functions import drop_stale, make_stale
from hubless_databases.postgres.pg_table import FITS, Chosen, PgRun, PgTable
from hubless_databases.postgres.session import Name, PgSession

NEAR = 2e-3
"""How far a vector of a row may be from the one that was read, relative to its length: `halfvec` rounds."""
PAGE_WITH_TRIGGERS = 100
"""Rows that are written while the owner's triggers are off, and other writers wait."""

_PARTS = """
WITH RECURSIVE parts AS (
    SELECT %s::oid AS part, 0::oid AS parent, 0 AS depth
    UNION ALL SELECT i.inhrelid, i.inhparent, depth + 1 FROM pg_inherits i JOIN parts ON i.inhparent = parts.part
) SELECT c.oid::int8, parent::int8, n.nspname, c.relname, c.relkind::text
FROM parts JOIN pg_class c ON c.oid = parts.part
JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY depth, c.oid
"""
_TRIGGERS = """
SELECT n.nspname, c.relname, t.tgname, t.tgenabled::text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_proc p ON p.oid = t.tgfoid
WHERE t.tgrelid::int8 = ANY (%s) AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') AND t.tgtype & 16 <> 0
AND (t.tgattr::text = '' OR (SELECT attnum FROM pg_attribute WHERE attrelid = c.oid AND attname = %s)
    = ANY (t.tgattr::int2[])) AND p.proname NOT LIKE 'hubless\\_stale\\_%%'
ORDER BY 1, 2, 3
"""
_WRITE = """
UPDATE {table} AS r SET {column} = p.v::{vectors}.{kind} FROM (
    SELECT id::{id_kind} AS id, v::{vectors}.vector AS v FROM unnest(%s::text[], %s::text[]) AS given (id, v) OFFSET 0
) p WHERE r.{key} = p.id AND CASE WHEN {vectors}.vector_dims(r.{source}) = {dim} THEN {same} ELSE false END
"""
_SAME = {
    "cosine": "{v}.l2_normalize(r.{source}::{v}.vector) OPERATOR({v}.<->) {v}.subvector(p.v, 1, {dim}) <= {near}",
    "dot": "r.{source}::{v}.vector OPERATOR({v}.<->) {v}.subvector(p.v, 1, {dim})"
    " <= {near} * {v}.vector_norm(r.{source}::{v}.vector)",
}
_SAME["euclidean"] = _SAME["dot"]
"""When the vector of a row is the one that was read, by the metric."""
_BASES = """
SELECT a.attname FROM pg_attrdef f JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
JOIN pg_attribute g ON g.attrelid = f.adrelid AND g.attnum = f.adnum
WHERE f.adrelid = %s::oid AND d.refobjid = f.adrelid AND g.attname = %s AND a.attnum <> g.attnum
"""
_VIEWS = """
SELECT DISTINCT n.nspname, v.relname, pg_get_viewdef(v.oid), array_to_string(v.reloptions, ', ')
FROM pg_depend d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
JOIN pg_class v ON v.oid = r.ev_class JOIN pg_namespace n ON n.oid = v.relnamespace
JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = %s::oid AND a.attname = %s
"""
_GRANTS = """
SELECT g.privilege_type, r.rolname, g.is_grantable FROM pg_attribute a CROSS JOIN LATERAL aclexplode(a.attacl) g
LEFT JOIN pg_roles r ON r.oid = g.grantee WHERE a.attrelid = %s::oid AND a.attname = %s
"""


def firing(session: PgSession, table: PgTable, column: str) -> list[tuple[str, str, str, str]]:
    """Return the owner's triggers that fire when a column is updated: schema, table, name, and how it is enabled."""
    parts = [oid for oid, *_ in session.rows(_PARTS, [table.oid])]
    return session.rows(_TRIGGERS, [parts, column])


def add_run(session: PgSession, table: PgTable, into: str, to: Chosen) -> PgRun:
    """Make a column for a run, and the trigger that keeps it true from the beginning. Return the run."""
    run_id = token_hex(4)
    run = PgRun(into, f"{into}_{run_id}", run_id, f"zz_hubless_{into}_{run_id}", table.schema, [to.source])
    width = sql.Literal(to.width)
    added = "ALTER TABLE {table} ADD COLUMN {column} {v}.{kind}({width})"
    session.run(added, table=table.name, column=run.column, v=table.vectors, kind=to.kind, width=width)
    make_stale(session, run)
    # named to fire after other triggers, which may change the vector; as arrays and texts have operators everywhere
    bases = [(name, "text") for (name,) in session.rows(_BASES, [table.oid, to.source])] or [(to.source, "real[]")]
    changed = [
        session.composed("OLD.{c}::{kind} IS DISTINCT FROM NEW.{c}::{kind}", c=name, kind=sql.SQL(kind))
        for name, kind in bases
    ]
    made = "CREATE TRIGGER {t} BEFORE UPDATE ON {table} FOR EACH ROW WHEN ({changed}) EXECUTE FUNCTION {stale}({given})"
    given = sql.SQL(", ").join(map(sql.Literal, (run.into, run.column, run.id)))
    stale = (run.schema, f"hubless_stale_{run.id}")
    whole = sql.SQL(" OR ").join(changed)
    session.run(made, t=run.trigger, table=table.name, changed=whole, stale=stale, given=given)
    session.run("ALTER TABLE {table} ENABLE ALWAYS TRIGGER {t}", table=table.name, t=run.trigger)
    session.run("INSERT INTO {fits} (relation, name) VALUES (%s, %s)", [run.id, into], fits=(run.schema, FITS))
    table.reread()
    return run


def remove_run(session: PgSession, table: PgTable, run: PgRun, column: str | None = None) -> list[str]:
    """Remove a column, and the trigger, the functions and the stored fit of a run. Return the names of what went."""
    gone = []
    if column in table.columns:
        session.run("ALTER TABLE {table} DROP COLUMN {column}", table=table.name, column=column)
        gone.append(f"column {column}")
    session.run("DROP TRIGGER IF EXISTS {trigger} ON {table}", trigger=run.trigger, table=table.name)
    gone += [f"trigger {run.trigger}", drop_stale(session, run), *drop_confidence(session, run)]
    gone_fit = "DELETE FROM {fits} WHERE relation = %s AND name = %s"
    session.run(gone_fit, [run.id, run.into], fits=(run.schema, FITS))
    return [*gone, f"the stored fit of {run.into}"]


def write_rows(
    session: PgSession, table: PgTable, column: str, to: Chosen, metric: str, ids: Sequence[RowId], augmented: F32
) -> int:
    """Write corrected vectors to the rows whose vector is still the one they were made of. Return the number of rows.

    The owner's triggers are off meanwhile, in the same transaction, so no end of this process leaves them off.
    """
    triggers = firing(session, table, column)
    dim = sql.Literal(to.width - 1)
    names: dict[str, Name] = {"v": table.vectors, "source": to.source, "dim": dim}
    same = session.composed(_SAME[metric], near=sql.Literal(NEAR), **names)
    names |= {"table": table.name, "column": column, "kind": to.kind, "vectors": table.vectors, "key": to.key}
    names |= {"id_kind": sql.SQL(table.columns[to.key].kind), "same": same}
    written = 0
    step = PAGE_WITH_TRIGGERS if triggers else max(1, len(ids))

    def write_some() -> None:
        nonlocal written
        with _silent(session, triggers):
            values = [[str(each) for each in ids[some]], [str(row.tolist()) for row in augmented[some]]]
            written += session.run(_WRITE, values, **names).rowcount

    for start in range(0, len(ids), step):
        some = slice(start, start + step)
        session.patiently(write_some)
    return written


@contextmanager
def _silent(session: PgSession, triggers: list[tuple[str, str, str, str]]) -> Iterator[None]:
    """Switch triggers off for a part of a transaction."""
    for schema, name, trigger, _ in triggers:
        session.run("ALTER TABLE ONLY {table} DISABLE TRIGGER {trigger}", table=(schema, name), trigger=trigger)
    yield
    if triggers:
        session.run("SET CONSTRAINTS ALL IMMEDIATE")  # a table with events that wait cannot be altered
    for schema, name, trigger, enabled in triggers:
        how = sql.SQL("ENABLE ALWAYS TRIGGER" if enabled == "A" else "ENABLE TRIGGER")
        session.run("ALTER TABLE ONLY {table} {how} {trigger}", table=(schema, name), how=how, trigger=trigger)


def build_hnsw(session: PgSession, table: PgTable, run: PgRun, kind: str, operators: str) -> tuple[str, str]:
    """Make an HNSW index of the column of a run, while others write. Return its schema and name.

    It is by inner product or distance: cosine would divide by the length, and the offset with it. A partitioned table
    gets one of those of its partitions.
    """
    parts = session.rows(_PARTS, [table.oid])
    indexes = {oid: (schema, f"hubless_index_{run.id}_{n}") for n, (oid, _, schema, *_) in enumerate(parts)}
    names: dict[str, Name] = {"column": run.column, "v": table.vectors, "operators": f"{kind}_{operators}"}
    using = " USING hnsw ({column} {v}.{operators})"
    for oid, _, schema, name, relkind in parts:
        made = (
            "CREATE INDEX {index} ON ONLY {table}" if relkind == "p" else "CREATE INDEX CONCURRENTLY {index} ON {table}"
        )
        session.run(made + using, (), index=indexes[oid][1], table=(schema, name), **names)
    for oid, parent, *_ in reversed(parts[1:]):
        session.run("ALTER INDEX {index} ATTACH PARTITION {part}", index=indexes[parent], part=indexes[oid])
    about = sql.Literal(f"hubless {run.id}")
    session.run("COMMENT ON INDEX {index} IS {about}", index=indexes[table.oid], about=about)
    return indexes[table.oid]


def exchange(session: PgSession, table: PgTable, run: PgRun, old: PgRun | None, index: tuple[str, str] | None) -> None:
    """Put the column of a run in place of the current one: its views, its grants and the name of its index with it."""
    into = run.into
    views = session.rows(_VIEWS, [table.oid, into])
    grants = session.rows(_GRANTS, [table.oid, into])
    names: dict[str, Name] = {"table": table.name, "into": into, "column": run.column, "old": f"{run.column}_old"}
    if old is not None:
        session.run("ALTER TABLE {table} RENAME COLUMN {into} TO {old}", (), **names)
    session.run("ALTER TABLE {table} RENAME COLUMN {column} TO {into}", (), **names)
    for schema, view, definition, options in views:
        having = sql.SQL(f" WITH ({options})" if options else "")
        text = sql.SQL(definition.rstrip("; \n"))
        session.run("CREATE OR REPLACE VIEW {view}{having} AS {text}", view=(schema, view), having=having, text=text)
    if old is not None:
        session.run("ALTER TABLE {table} DROP COLUMN {old}", (), **names)
        remove_run(session, table, old)
    for privilege, role, grantable in grants:
        names |= {"what": sql.SQL(privilege), "role": role or sql.SQL("PUBLIC")}
        names["more"] = sql.SQL("WITH GRANT OPTION" if grantable else "")
        session.run("GRANT {what} ({into}) ON {table} TO {role} {more}", (), **names)
    if index is not None:
        new = table.derived(into, "index")
        session.run("ALTER INDEX {index} RENAME TO {new}", index=index, new=new)
