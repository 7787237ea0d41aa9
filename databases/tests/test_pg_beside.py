"""Whoever works with a table of PostgreSQL beside a correction keeps what is his, and ranks by no old vector."""

import threading

import pytest
from support import stores
from support.tables import Tables

import hubless
from hubless.errors import InputError
from hubless_databases.addresses import open_database
from hubless_databases.postgres.pgvector import PgvectorTable


@pytest.fixture
def tables(fitted):
    made = Tables(fitted)
    made.make("docs", "id bigint PRIMARY KEY, embedding vector(16), touched int DEFAULT 0")
    return made


def test_row_that_changes_while_it_gets_its_offset_keeps_no_old_vector(tables):
    tables.publish("docs")
    tables.change("docs", 3)
    with tables.client() as client:
        client.execute("BEGIN; UPDATE docs SET embedding = '[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7]' WHERE id = 3")
        thread = threading.Thread(target=tables.sync, args=["docs"])
        thread.start()
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while client.execute(waiting).fetchone() == (0,):
            client.execute("SELECT pg_stat_clear_snapshot()")
        client.execute("COMMIT")
        thread.join()
    assert tables.state("docs")[1] == 0


def test_trigger_sees_what_a_trigger_of_the_owner_changes(tables):
    tables.publish("docs")
    tables.sql(
        "CREATE FUNCTION ones() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN NEW.embedding := array_fill(1, ARRAY[16])::vector; RETURN NEW; END$$"
    )
    tables.sql("CREATE TRIGGER z_ones BEFORE UPDATE OF touched ON docs FOR EACH ROW EXECUTE FUNCTION ones()")
    tables.sql("UPDATE docs SET touched = 1 WHERE id = 3")
    assert tables.state("docs") == (1, 0)
    tables.sql(
        "SET session_replication_role = replica;"
        " UPDATE docs SET embedding = array_fill(2, ARRAY[16])::vector WHERE id = 4"
    )
    assert tables.state("docs") == (2, 0)


def test_computed_vectors_are_corrected_and_emptied(tables):
    tables.make("raws", "id bigint PRIMARY KEY, raw vector(16)")
    tables.sql("ALTER TABLE raws ADD COLUMN e vector(16) GENERATED ALWAYS AS (l2_normalize(raw)) STORED, ADD n int")
    tables.publish("raws", vector="e")
    tables.sql("UPDATE raws SET n = 1")
    assert tables.state("raws", "e") == (0, 0)
    tables.change("raws", 3, "raw")
    assert tables.state("raws", "e") == (1, 0)
    assert tables.sync("raws", vector="e") == 1


def test_second_correction_of_a_table_is_refused_while_one_works(tables):
    first = open_database(tables.address("docs"))
    first.prepare("hubless", "cosine")
    for work in (lambda: tables.publish("public.docs"), lambda: hubless.undo(tables.address("docs"))):
        with pytest.raises(InputError, match="table: expected one that no other correction is working on"):
            work()
    first.close()
    assert tables.publish("docs").written == stores.FIRST


def test_indexes_are_built_while_others_write_and_partitions_stay_whole(tables, monkeypatch):
    import psycopg

    said, real = [], psycopg.Connection.execute

    def noted(self, query, *given, **named):
        said.append(query if isinstance(query, str) else query.as_string(self))
        return real(self, query, *given, **named)

    tables.sql("CREATE TABLE parts (id bigint PRIMARY KEY, embedding vector(16)) PARTITION BY RANGE (id)")
    tables.sql("CREATE TABLE low PARTITION OF parts FOR VALUES FROM (0) TO (50)")
    tables.sql("CREATE TABLE high PARTITION OF parts FOR VALUES FROM (50) TO (1000) PARTITION BY RANGE (id)")
    tables.sql("CREATE TABLE higher PARTITION OF high FOR VALUES FROM (50) TO (1000)")
    tables.sql("INSERT INTO parts SELECT id, embedding FROM docs")
    with monkeypatch.context() as patched:
        patched.setattr(psycopg.Connection, "execute", noted)
        for name in ("docs", "parts", "parts"):
            assert tables.publish(name).written == stores.FIRST
    built = [each for each in said if "USING hnsw" in each]
    assert all("CONCURRENTLY" in each or "ON ONLY" in each for each in built)
    assert sum("CONCURRENTLY" in each for each in built) == 5
    invalid = "SELECT count(*) FROM pg_index WHERE NOT indisvalid"
    assert tables.sql(invalid) == [(0,)]
    tables.change("parts", 70)
    tables.sql("UPDATE parts SET embedding = '[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7]', id = 60 + 900 WHERE id = 10")
    assert tables.state("parts") == (2, 0)
    tables.sql("CREATE TABLE last PARTITION OF parts FOR VALUES FROM (1000) TO (2000)")
    tables.sql("INSERT INTO parts SELECT id + 1000, embedding FROM docs WHERE id < 5")
    assert tables.sync("parts") == 7
    with pytest.raises(InputError, match="table: expected the partitioned table parts, got a partition of it"):
        tables.publish("low")


def test_triggers_of_the_owner_never_fire_and_stay_as_they_were(tables):
    tables.sql("CREATE TABLE audit (n int)")
    tables.sql(
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN INSERT INTO audit VALUES (1); NEW.touched := 1; RETURN NEW; END$$"
    )
    for name, when in (("row", "BEFORE UPDATE"), ("always", "AFTER UPDATE"), ("off", "BEFORE UPDATE")):
        tables.sql(f"CREATE TRIGGER t_{name} {when} ON docs FOR EACH ROW EXECUTE FUNCTION note()")
    tables.sql("CREATE TRIGGER t_all AFTER UPDATE ON docs FOR EACH STATEMENT EXECUTE FUNCTION note()")
    tables.sql("ALTER TABLE docs ENABLE ALWAYS TRIGGER t_always; ALTER TABLE docs DISABLE TRIGGER t_off")
    states = "SELECT tgname, tgenabled FROM pg_trigger WHERE tgname LIKE 't\\_%' ORDER BY 1"
    before = tables.sql(states)
    tables.publish("docs")
    tables.sql("UPDATE docs SET hubless = NULL WHERE id < 3; UPDATE docs SET touched = 0; DELETE FROM audit")
    assert tables.sync("docs") == 3
    assert (tables.sql(states), tables.sql("SELECT count(*) FROM audit")) == (before, [(0,)])


def test_views_and_rights_follow_to_the_next_correction(tables):
    first = tables.publish("docs")
    tables.sql("CREATE VIEW shown WITH (security_barrier=true) AS SELECT id, hubless AS h FROM docs WHERE id < 50")
    tables.sql("CREATE VIEW counted AS SELECT count(h) FROM shown")
    tables.sql(f"GRANT SELECT (id, hubless) ON docs TO {tables.role('reader')}")
    other = hubless.Index(metric="cosine", index="flat", correction="nnn", parameters={"k": 1, "weight": 3})
    other.fit(stores.BANK_QUERIES, stores.TARGETS[: stores.FIRST], ids=range(stores.FIRST), bank_of_targets=True)
    second = hubless.publish(other, tables.address("docs"))
    assert second.query.partition("SELECT id")[2] == first.query.partition("SELECT id")[2]
    same = "SELECT count(*) FROM shown JOIN docs USING (id) WHERE h::text = hubless::text"
    assert tables.sql(same) == [(50,)]
    assert tables.sql("SELECT * FROM counted") == [(50,)]
    assert tables.sql("SELECT count(hubless) FROM docs", user="reader") == [(stores.FIRST,)]
    assert tables.sql("SELECT reloptions FROM pg_class WHERE relname = 'shown'") == [(["security_barrier=true"],)]
    with pytest.raises(InputError, match=r"undo: expected .*nothing that uses what goes, got .*view shown depends"):
        hubless.undo(tables.address("docs"))
    tables.sql("DROP VIEW shown CASCADE; CREATE MATERIALIZED VIEW stored AS SELECT hubless FROM docs")
    with pytest.raises(InputError, match=r"into: expected a column hubless that only views use.* materialised view st"):
        tables.publish("docs")
    tables.sql("DROP MATERIALIZED VIEW stored; CREATE INDEX mine ON docs USING hnsw (hubless vector_l2_ops)")
    with pytest.raises(InputError, match=r"only views use.*got one that index mine uses"):
        tables.publish("docs")


def test_other_roles_search_by_their_own_rights(tables):
    done = tables.publish("docs")
    reader = tables.role("reader")
    tables.sql(f"GRANT SELECT ON docs TO {reader}")
    asked = done.query.replace("%(q)s", f"'{[1.0] * 16}'")
    assert len(tables.sql(asked, user=reader)) == 10
    with pytest.raises(InputError, match=r"address: expected a role that may update hubless of public\.docs"):
        tables.sync("docs", user=reader)
    tables.sql(f"GRANT UPDATE (hubless) ON docs TO {reader}")
    with pytest.raises(InputError, match=r"address: expected a role that may read public\.hubless_fits"):
        tables.sync("docs", user=reader)
    with pytest.raises(InputError, match="expected a role that owns the table, as postgres does, got reader"):
        hubless.publish(tables.fitted, tables.address("docs", user=reader))


def test_remains_of_a_killed_run_go_with_the_next_or_with_undo(tables, monkeypatch):
    before = tables.dump("-s")
    for end in (lambda: tables.publish("docs"), lambda: None):
        with monkeypatch.context() as patched:
            patched.setattr(PgvectorTable, "swap", lambda *given: 1 / 0)
            patched.setattr(PgvectorTable, "close", lambda self: self._session.connection.close())
            with pytest.raises(Exception, match="division"):
                tables.publish("docs")
        assert len(tables.sql("SELECT * FROM docs")[0]) == 4
        end()
        assert hubless.undo(tables.address("docs"))
        assert tables.dump("-s") == before
    with monkeypatch.context() as patched:  # a failure cleans up by itself
        patched.setattr(PgvectorTable, "swap", lambda *given: 1 / 0)
        with pytest.raises(Exception, match="division"):
            tables.publish("docs")
    assert len(tables.sql("SELECT * FROM docs")[0]) == 3


def test_dump_of_a_corrected_database_restores_and_works(tables):
    tables.publish("docs")
    tables.restore(tables.dump(), "restored")
    tables.database = "restored"
    tables.change("docs", 3)
    assert tables.state("docs") == (1, 0)
    assert tables.sync("docs") == 1
    assert tables.publish("docs").written == stores.FIRST
