"""What would stop a correction in PostgreSQL is said before the work, in a sentence, and nothing is left behind."""
# ruff: noqa: S608

import pytest
from support import stores
from support.tables import Tables

import hubless
from hubless.errors import InputError

ROWS = "SELECT id, embedding FROM docs"


@pytest.fixture
def tables(fitted):
    made = Tables(fitted)
    made.make("docs")
    return made


@pytest.mark.parametrize(
    ("made", "name", "options", "said"),
    [
        ("CREATE VIEW v AS TABLE docs", "v", {"id": "id"}, r"table: expected a table; .*, got a view, public\.v"),
        ("CREATE MATERIALIZED VIEW v AS TABLE docs", "v", {"id": "id"}, "got a materialised view"),
        ("CREATE TABLE child () INHERITS (docs)", "docs", {}, "no other inherits, got one from which child does"),
        ("CREATE RULE r AS ON UPDATE TO docs DO ALSO NOTHING", "docs", {}, "without rules for UPDATE, got the rule r"),
        ("UPDATE docs SET embedding = array_fill(0, ARRAY[16])::vector WHERE id = 7", "docs", {}, "zeros at id 7"),
        ("ALTER TABLE docs ADD hubless int", "docs", {}, "into: expected a name that no column has yet, got hubless"),
        (f"CREATE TABLE twice AS {ROWS} UNION ALL {ROWS} WHERE id = 7", "twice", {"id": "id"}, "got 7 in 2 rows"),
        (f"CREATE TABLE none AS {ROWS}; UPDATE none SET id = NULL WHERE id = 7", "none", {"id": "id"}, "got NULL"),
        ("UPDATE pg_extension SET extversion = '0.6.2' WHERE extname = 'vector'", "docs", {}, "0.7 or later.*0.6.2"),
    ],
)
def test_table_that_cannot_be_corrected_is_refused_before_anything_is_made(tables, made, name, options, said):
    tables.sql(made)
    before = tables.sql("SELECT relname, relnatts FROM pg_class WHERE relname !~ '^pg_' ORDER BY 1")
    with pytest.raises(InputError, match=said):
        hubless.correct(tables.address(name, **options), stores.BANK_QUERIES, bank_of_targets=True)
    assert tables.sql("SELECT relname, relnatts FROM pg_class WHERE relname !~ '^pg_' ORDER BY 1") == before


def test_role_without_rights_is_told_which_it_lacks(tables):
    address = tables.address("docs", user=tables.role("owner"))

    def refused(said):
        with pytest.raises(InputError, match=said):
            hubless.publish(tables.fitted, address)

    tables.publish("docs", into="other")
    tables.sql("ALTER TABLE docs OWNER TO owner")
    refused("may make functions in the schema of the table .GRANT CREATE ON SCHEMA., got owner")
    tables.sql("GRANT CREATE ON SCHEMA public TO owner")
    refused("GRANT SELECT, INSERT, UPDATE, DELETE ON public.hubless_fits TO owner")
    tables.sql("GRANT SELECT, INSERT, UPDATE, DELETE ON hubless_fits TO owner")
    tables.sql("ALTER TABLE docs ENABLE ROW LEVEL SECURITY; ALTER TABLE docs FORCE ROW LEVEL SECURITY")
    refused("a role that sees all rows, got owner")
    tables.sql("ALTER TABLE docs DISABLE ROW LEVEL SECURITY; ALTER ROLE owner SET default_transaction_read_only = on")
    refused("a role that may write, got owner, whose transactions are read only")
    tables.sql("ALTER ROLE owner RESET ALL; ALTER ROLE owner SET statement_timeout = '400ms'")
    assert hubless.publish(tables.fitted, address).written == stores.FIRST
    tables.sql("ALTER ROLE owner RESET ALL; REVOKE ALL ON SCHEMA public FROM owner")


def test_sync_of_another_column_than_the_corrected_one_is_refused(tables):
    tables.publish("docs")
    tables.sql("ALTER TABLE docs ADD second vector(16)")
    with pytest.raises(InputError, match="vector: expected embedding, of which hubless is the correction, got second"):
        tables.sync("docs", vector="second")


def test_collection_with_other_vectors_or_dimensions_is_not_written(tables):
    tables.sql("UPDATE docs SET embedding = array_fill(id::int + 1, ARRAY[16])::vector")
    with pytest.raises(InputError, match="rows with the ids and the vectors of the collection"):
        tables.publish("docs")
    assert len(tables.sql("SELECT * FROM docs")[0]) == 2
    tables.sql("ALTER TABLE docs DROP embedding, ADD embedding vector(3)")
    with pytest.raises(InputError, match="vectors: expected 3 dimensions, as the column embedding has, got 16"):
        tables.publish("docs")
