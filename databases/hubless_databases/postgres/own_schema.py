"""The table that the corrections of a schema of PostgreSQL share: made with the first, dropped with the last."""

from hubless_databases.postgres.functions import drop_ask, drop_stale
from hubless_databases.postgres.pg_table import FITS, PgRun, PgTable
from hubless_databases.postgres.session import ADVISORY, PgSession

_SHARED = f"""
CREATE TABLE IF NOT EXISTS {{schema}}.{FITS}
    (relation text, name text, fit bytea, made timestamptz, PRIMARY KEY (relation, name));
"""
_LOST = """
SELECT substr(p.proname, 15) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = %s AND p.proname ~ '^hubless_stale_[0-9a-f]{{8}}$'
AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgfoid = p.oid) AND pg_has_role(p.proowner, 'USAGE')
"""
_LOST_ROWS = """
DELETE FROM {fits} s WHERE s.relation ~ '^[0-9a-f]{{8}}$' AND NOT EXISTS (
    SELECT FROM pg_proc WHERE proname = 'hubless_stale_' || s.relation
)
"""


def hold_schema(session: PgSession, schema: str) -> None:
    """Hold what the tables of a schema share until the transaction ends."""
    lock = "SELECT pg_advisory_xact_lock(%s, oid::int8::bit(32)::int4) FROM pg_namespace WHERE nspname = %s"
    session.run(lock, [ADVISORY, schema])


def make_shared(session: PgSession, table: PgTable) -> None:
    """Make the table of fits in the schema of a table, unless they are there."""
    if not table.exists(table.schema, FITS):
        session.run(_SHARED, schema=table.schema)


def remove_lost(session: PgSession, table: PgTable) -> list[str]:
    """Remove the fits and functions in the schema of a table whose own tables are gone. Return their names."""
    lost = [run_id for (run_id,) in session.rows(_LOST, [table.schema])]
    gone = [drop_stale(session, PgRun("-", "-", run_id, "-", table.schema, [])) for run_id in lost]
    if table.exists(table.schema, FITS):
        session.run(_LOST_ROWS, fits=(table.schema, FITS))
    return gone


def drop_shared(session: PgSession, table: PgTable, schema: str) -> list[str]:
    """Drop what a schema shares if no correction is left in it. Return the names of what went."""
    if not table.exists(schema, FITS) or session.one("SELECT count(*) FROM {fits}", fits=(schema, FITS)):
        return []
    session.run("DROP TABLE {fits}", fits=(schema, FITS))
    return [f"table {schema}.{FITS}", *drop_ask(session, table, schema)]
