"""Functions of PostgreSQL that a correction leaves: to ask, and to empty what is stale.

Each names all it uses with its schema, so no search path changes what it does, and runs with the rights of who calls.
"""

from hubless_databases.postgres.pg_table import PgRun, PgTable
from hubless_databases.postgres.session import PgSession

_ASK = "hub_query"

_QUERY = """
CREATE OR REPLACE FUNCTION {ask}(q {v}.vector, strength float8 DEFAULT 1, metric text DEFAULT 'cosine')
RETURNS {v}.vector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE metric WHEN 'dot' THEN q ELSE {v}.l2_normalize(q) END
        OPERATOR({v}.||) ARRAY[strength]::pg_catalog.float8[]::{v}.vector
$$
"""
_STALE = """
CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RETURN pg_catalog.jsonb_populate_record(NEW, pg_catalog.jsonb_build_object(TG_ARGV[0], NULL, TG_ARGV[1], NULL));
END $$
"""
_ASK_IS_OURS = """
SELECT pg_has_role(p.proowner, 'USAGE') FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = %s AND p.proname = %s
"""


def make_ask(session: PgSession, table: PgTable) -> None:
    """Make `hub_query` in the schema of a table, unless another role has made it there."""
    ask = (table.schema, _ASK)
    if session.one(_ASK_IS_OURS, ask) is not False:
        session.run(_QUERY, ask=ask, v=table.vectors)
        session.run("GRANT EXECUTE ON FUNCTION {ask}({v}.vector, float8, text) TO PUBLIC", ask=ask, v=table.vectors)


def make_stale(session: PgSession, run: PgRun) -> None:
    """Make the function of the trigger that empties the corrected vector of a row whose vector changes."""
    session.run(_STALE, function=(run.schema, f"hubless_stale_{run.id}"))


def drop_stale(session: PgSession, run: PgRun) -> str:
    """Drop the function of a run, whose trigger is gone. Return its name."""
    name = f"hubless_stale_{run.id}"
    session.run("DROP FUNCTION IF EXISTS {name}()", name=(run.schema, name))
    return f"function {run.schema}.{name}"


def drop_ask(session: PgSession, table: PgTable, schema: str) -> list[str]:
    """Drop `hub_query` of a schema, if this role has made it. Return its name."""
    if not session.one(_ASK_IS_OURS, [schema, _ASK]):
        return []
    session.run("DROP FUNCTION {ask}({v}.vector, float8, text)", ask=(schema, _ASK), v=table.vectors)
    return [f"function {schema}.{_ASK}"]
