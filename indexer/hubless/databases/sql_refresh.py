"""A function of PostgreSQL that gives new rows their offsets, by the formula of `auto`, `sn`, `dbsn` and `is`."""

import numpy as np

from hubless.databases.stored_fit import unpacked

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
