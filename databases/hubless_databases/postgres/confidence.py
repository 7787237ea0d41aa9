"""Functions of PostgreSQL that say by scores how likely the first hit is right, and whether to answer."""

from collections.abc import Mapping
from typing import Any

from psycopg import sql

from hubless_databases.postgres.pg_table import PgRun, PgTable
from hubless_databases.postgres.session import Name, PgSession

# an exponent out of range is an error in PostgreSQL
_CONFIDENCE = """
CREATE FUNCTION {function}(scores float8[]) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN count(*) = 0 THEN 0 ELSE 1 / (1 + exp(least(40, greatest(-700,
        {slope} * ln(greatest(1e-6,
            coalesce(sum(exp(least(80, greatest(-700, ahead)))) FILTER (WHERE abs(ahead) > 1e-4), 0)
            + ({depth} - count(*)) / ({depth} - 1)::float8
            * exp(least(80, greatest(-700, ({second} - min(first)) / {temperature})))
        )) - {intercept})))) END
    FROM (SELECT (score - scores[1]) / {temperature} AS ahead, scores[1] AS first
        FROM unnest(scores[1:{depth}]) AS score) best
$$
"""
_ACCEPT = """
CREATE FUNCTION {function}(scores float8[], accuracy float8 DEFAULT 0.9) RETURNS bool LANGUAGE plpgsql IMMUTABLE
PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    cut float8 := CASE {cuts} END;
BEGIN
    IF cut IS NULL THEN
        RAISE EXCEPTION 'accuracy: expected one that the labels can promise, got %', accuracy;
    END IF;
    RETURN {confidence}(scores) >= cut;
END $$
"""
_OURS = """
SELECT n.nspname, p.proname, pg_get_function_identity_arguments(p.oid) FROM pg_proc p
JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE obj_description(p.oid, 'pg_proc') = %s AND n.nspname = %s ORDER BY p.pronargs
"""


def make_confidence(session: PgSession, table: PgTable, run: PgRun, cut: Mapping[str, Any]) -> None:
    """Make TABLE_INTO_confidence, and TABLE_INTO_accept where labels calibrated it: by the numbers of a `Cut`."""
    numbers: dict[str, Name] = {name: _number(cut[name]) for name in ("temperature", "second", "slope", "intercept")}
    confidence = (run.schema, table.derived(run.into, "confidence"))
    session.run(_CONFIDENCE, (), function=confidence, depth=sql.Literal(cut["depth"]), **numbers)
    made = [session.composed("{f}(float8[])", f=confidence)]
    if cut["pairs"]:
        accept = (run.schema, table.derived(run.into, "accept"))
        cuts = sql.SQL(" ").join(
            sql.SQL("WHEN accuracy <= {} THEN {}").format(_number(float(accuracy)), _number(found))
            for accuracy, found in cut["cuts"].items()
        )
        session.run(_ACCEPT, function=accept, confidence=confidence, cuts=cuts)
        made.append(session.composed("{f}(float8[], float8)", f=accept))
    about = sql.Literal(_about(run))
    for function in made:
        session.run("COMMENT ON FUNCTION {function} IS {about}", function=function, about=about)
        session.run("GRANT EXECUTE ON FUNCTION {function} TO PUBLIC", function=function)


def confidence_functions(session: PgSession, run: PgRun) -> list[tuple[str, str, str]]:
    """Return schema, name and parameters of the functions of a run: confidence, and accept where it is there."""
    return session.rows(_OURS, [_about(run), run.schema])


def drop_confidence(session: PgSession, run: PgRun) -> list[str]:
    """Drop the functions of a run. Return their names."""
    gone = []
    for schema, name, given in reversed(confidence_functions(session, run)):
        session.run("DROP FUNCTION {name}({given})", name=(schema, name), given=sql.SQL(given))
        gone.append(f"function {schema}.{name}")
    return gone


def _number(value: float | None) -> sql.Composed:
    return sql.SQL("({}::float8)").format(sql.Literal(value))


def _about(run: PgRun) -> str:
    return f"hubless {run.id} confidence"
