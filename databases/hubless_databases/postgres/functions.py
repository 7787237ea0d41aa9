"""Functions of PostgreSQL that a correction leaves: to ask, to empty what is stale, and to give new rows offsets.

Each names all it uses with its schema, so no search path changes what it does. What users call runs with their own
rights; only the function that reads the query bank runs with its owner's.
"""

import numpy as np
from psycopg import sql

from hubless_databases.base import Asking, unpacked
from hubless_databases.postgres.pg_table import BANK, Chosen, PgRun, PgTable
from hubless_databases.postgres.session import Name, PgSession

_SOFTMAX = ("auto", "is", "sn", "dbsn")
"""Methods whose offsets SQL computes."""
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
_CORRECTED = """
CREATE FUNCTION {function}(v {v}.vector) RETURNS {v}.vector LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    t {v}.vector := {unit};
    x float8;
BEGIN
    SELECT {temperature} * (max(top) + ln(sum(exp(z - top)))) - ({topic}) INTO x FROM (
        SELECT z, max(z) OVER () AS top FROM (
            SELECT -(b.query OPERATOR({v}.<#>) t) / {temperature} + b.potential AS z FROM {bank} b
            WHERE b.relation = {relation} AND b.name = {name}
        ) terms
    ) tops;
    x := {shrinkage} * x - {constant};
    RETURN t OPERATOR({v}.||) ARRAY[-x]::float8[]::{v}.vector;
END $$
"""
_REFRESH = """
CREATE FUNCTION {function}() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    changed bigint;
    corrected text;
    source text;
BEGIN
    SELECT t.tgrelid::regclass, {source} INTO STRICT corrected, source
    FROM pg_catalog.pg_trigger t WHERE t.tgfoid = {stale}::regproc AND t.tgparentid = 0 AND NOT t.tgisinternal;
    EXECUTE pg_catalog.format({update}, corrected, source);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END $$
"""
_SOURCE = """(SELECT a.attname FROM pg_catalog.pg_depend d
        JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
        WHERE d.classid = 'pg_catalog.pg_trigger'::regclass AND d.objid = t.oid AND d.refobjid = t.tgrelid)"""
_UPDATE = """
UPDATE %1$s SET {into} = {function}(%2$I::{v}.vector)::{v}.{kind} WHERE {into} IS NULL
AND {v}.vector_dims(%2$I) = {dim} AND {v}.vector_norm(%2$I::{v}.vector) > 0
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


def store_bank(session: PgSession, run: PgRun, rows: list[tuple[str, float]]) -> None:
    """Store the query bank of a run, which the function that computes offsets reads."""
    with session.connection.cursor().copy(session.composed("COPY {bank} FROM STDIN", bank=(run.schema, BANK))) as copy:
        for row, potential in rows:
            copy.write_row((run.id, run.into, row, potential))


def make_refresh(
    session: PgSession, table: PgTable, run: PgRun, to: Chosen, numbers: dict[str, str], asking: Asking
) -> None:
    """Make the functions that compute a corrected vector, and that give one to each row without."""
    v = table.vectors
    corrected = (run.schema, f"hubless_vector_{run.id}")
    refresh = (run.schema, table.derived(run.into, "refresh"))
    session.run(
        _CORRECTED,
        (),
        function=corrected,
        v=v,
        bank=(run.schema, BANK),
        relation=sql.Literal(run.id),
        name=sql.Literal(run.into),
        unit=session.composed("{v}.l2_normalize(v)" if asking.metric == "cosine" else "v", v=v),
        **{name: session.composed(text, v=v) for name, text in numbers.items()},
    )
    session.run(
        _REFRESH,
        function=refresh,
        source=sql.Literal(to.source) if table.columns[to.source].generated else sql.SQL(_SOURCE),
        stale=sql.Literal(session.text((run.schema, f"hubless_stale_{run.id}"))),
        update=sql.Literal(
            _update(session, into=run.into, function=corrected, v=v, kind=to.kind, dim=asking.width - 1)
        ),
    )
    about = sql.Literal(f"hubless {run.id}")
    session.run("COMMENT ON FUNCTION {refresh}() IS {about}", refresh=refresh, about=about)
    session.run("GRANT EXECUTE ON FUNCTION {one}({v}.vector), {other}() TO PUBLIC", one=corrected, other=refresh, v=v)


def refresh_of(session: PgSession, run: PgRun) -> tuple[str, str] | None:
    """Return the schema and the name of the refresh function of a run."""
    found = """
        SELECT n.nspname, p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE obj_description(p.oid, 'pg_proc') = %s AND n.nspname = %s
    """
    return session.run(found, [f"hubless {run.id}", run.schema]).fetchone()


def drop_functions(session: PgSession, table: PgTable, run: PgRun) -> list[str]:
    """Drop the functions of a run, whose trigger is gone. Return their names."""
    names = [f"hubless_stale_{run.id}", f"hubless_vector_{run.id}", *(refresh_of(session, run) or ())[1:]]
    if not run.column:  # of hubless 0.2
        names = [f"{table.table}_{run.into}_{what}" for what in ("stale", "refresh")]
    gone = [name for name in names if table.exists(run.schema, name)]
    for name in gone:
        given = "({v}.vector)" if name == f"hubless_vector_{run.id}" else "()"
        session.run("DROP FUNCTION {name}" + given, name=(run.schema, name), v=table.vectors)
    return [f"function {run.schema}.{name}" for name in gone]


def drop_ask(session: PgSession, table: PgTable, schema: str) -> list[str]:
    """Drop `hub_query` of a schema, if this role has made it. Return its name."""
    if not session.one(_ASK_IS_OURS, [schema, _ASK]):
        return []
    session.run("DROP FUNCTION {ask}({v}.vector, float8, text)", ask=(schema, _ASK), v=table.vectors)
    return [f"function {schema}.{_ASK}"]


def _update(session: PgSession, *, into: str, function: Name, v: str, kind: str, dim: int) -> str:
    """Return the statement of a refresh, for `format`, in which a percent sign is two."""
    names = {"into": into, "function": function, "v": v, "kind": kind, "dim": sql.Literal(dim)}
    return _UPDATE.format(**{key: session.text(name).replace("%", "%%") for key, name in names.items()})


def stored_bank(fit: bytes) -> tuple[list[tuple[str, float]], dict[str, str]] | None:
    """Return the bank as rows of vector and potential, and the numbers of the formula; None if it is another one."""
    state, about = unpacked(fit)
    details = about["details"]
    if about["correction"] not in _SOFTMAX or "prior_median" in details:
        return None
    bank = state["bank"]
    potentials = state.get("potentials", np.zeros(len(bank)))
    temperature = float(details["temperature"])
    shrinkage = float(details["shrinkage"])
    topic = state.get("topic")
    numbers = {
        "temperature": temperature,
        "shrinkage": shrinkage,
        "constant": float(state["centre"]),
    }
    written = {name: f"({value!r}::float8)" for name, value in numbers.items()}
    written["topic"] = "0"
    if topic is not None:
        written["topic"] = f"-('{np.asarray(topic, np.float32).tolist()}'::{{v}}.vector OPERATOR({{v}}.<#>) t)"
    rows = [(str(row.tolist()), float(one)) for row, one in zip(bank, potentials, strict=True)]
    return rows, written
