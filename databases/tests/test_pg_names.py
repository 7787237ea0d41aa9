"""A correction belongs to one table, whatever its name is and wherever it goes."""

import pytest
from support.tables import Tables

import hubless
from hubless.errors import InputError


@pytest.fixture
def tables(fitted):
    return Tables(fitted)


def test_tables_of_one_name_in_two_schemas_never_touch_each_other(tables):
    tables.sql("CREATE SCHEMA a; CREATE SCHEMA b")
    tables.make("a.docs")
    tables.make("b.docs", "id bigint PRIMARY KEY, other vector(16)")
    for name in ("a.docs", "b.docs"):
        tables.publish(name)
    for schema, source in (("a", "embedding"), ("b", "other")):
        tables.change(f"{schema}.docs", 3, source)
        assert tables.state(f"{schema}.docs", source) == (1, 0)
    assert [tables.sync(f"{schema}.docs") for schema in "ab"] == [1, 1]
    for _ in range(2):  # a second and a third correction of each
        assert [tables.publish(f"{schema}.docs").written for schema in "ab"] == [100, 100]
    hubless.undo(tables.address("a.docs"))
    tables.change("b.docs", 4, "other")
    assert tables.sync("b.docs") == 1


@pytest.mark.parametrize(
    ("table", "address"),
    [
        ("t" * 63, "t" * 63),
        ("naïve ☃" + "é" * 20, "naïve ☃" + "é" * 20),
        ("v1.docs", "v1.docs"),
        ("v1.docs", 'public."v1.docs"'),
        ("100%", "100%"),
        ('we"ird%s{source}', 'we"ird%s{source}'),
        ("select", "public.select"),
    ],
)
def test_any_name_is_found_and_corrected_twice(tables, table, address):
    quoted = '"' + table.replace('"', '""') + '"'
    tables.make(quoted)
    for _ in range(2):
        tables.publish(address)
        assert tables.state(quoted) == (0, 0)
    tables.change(quoted, 5)
    assert tables.state(quoted) == (1, 0)
    assert tables.sync(address) == 1
    assert tables.state(quoted) == (0, 0)
    hubless.undo(tables.address(address))
    assert tables.sql("SELECT proname FROM pg_proc WHERE proname ~ 'hub(less)?_'") == []


@pytest.mark.parametrize(
    "names",
    [{"l" * 50 + "_january": "hubless", "l" * 50 + "_february": "hubless"}, {"a": "b_c", "a_b": "c"}],
)
def test_names_that_come_out_alike_are_kept_apart(tables, names):
    for name in names:
        tables.make(name)
    said = [tables.publish(name, into=into) for name, into in names.items()]
    assert len({each.answer for each in said}) == 2
    for name, into in names.items():
        tables.change(name, 1)
        assert hubless.correct(tables.address(name), into=into, sync=True).written == 1
    assert [tables.publish(name, into=into).query for name, into in names.items()] == [each.query for each in said]


def test_bare_and_qualified_name_are_one_table_with_one_fit(tables):
    tables.make("photos")
    tables.publish("photos")
    tables.publish("public.photos")
    assert tables.sql("SELECT count(*) FROM hubless_fits") == [(1,)]
    assert tables.sync("public.photos") == 0


def test_address_that_two_tables_match_is_refused_with_both(tables):
    tables.sql('CREATE SCHEMA a; CREATE TABLE a.docs (); CREATE TABLE "a.docs" ()')
    with pytest.raises(InputError, match=r'expected "(a|public)"\."(a.)?docs" or "(a|public)"\..*, got a\.docs'):
        tables.publish("a.docs")


def test_missing_table_is_answered_with_those_of_all_schemas(tables):
    tables.sql("CREATE SCHEMA a")
    tables.make("a.docs", rows=0)
    with pytest.raises(InputError, match=r"table: expected one of .*a\.docs.*, got docs"):
        tables.publish("docs")


def test_correction_follows_a_table_that_is_renamed_or_moved(tables):
    tables.make("photos")
    tables.publish("photos")
    tables.sql("CREATE SCHEMA a; ALTER TABLE photos RENAME TO pictures")
    tables.sql("ALTER TABLE pictures SET SCHEMA a; ALTER TABLE a.pictures RENAME COLUMN embedding TO e")
    tables.change("a.pictures", 1, "e")
    assert tables.state("a.pictures", "e") == (1, 0)
    assert tables.sync("a.pictures") == 1
    assert tables.publish("a.pictures").written == 100
    assert tables.state("a.pictures", "e") == (0, 0)
    assert tables.sql("SELECT to_regclass('public.hubless_fits')") == [(None,)]
    hubless.undo(tables.address("a.pictures"))
    assert tables.sql("SELECT proname FROM pg_proc WHERE proname ~ 'hub(less)?_'") == []


def test_fit_of_a_table_that_was_dropped_is_not_used_for_the_next(tables):
    tables.make("photos")
    tables.publish("photos")
    tables.sql("DROP TABLE photos")
    tables.make("photos")
    with pytest.raises(InputError, match="into: expected a correction that is there"):
        tables.sync("photos")
    tables.publish("photos")
    assert tables.sql("SELECT count(*) FROM hubless_fits") == [(1,)]


def test_pgvector_in_a_schema_outside_the_search_path_works(fitted):
    tables = Tables(fitted, database="supa", vectors="extensions")
    tables.make("docs")
    done = tables.publish("docs")
    assert 'OPERATOR("extensions".<#>)' in done.query
    vector = str([1.0] * 16)
    assert len(tables.sql(done.query.replace("%(q)s", f"'{vector}'"))) == 10
    tables.change("docs", 3)
    assert tables.state("docs") == (1, 0)
    tables.sql("UPDATE docs SET hubless = NULL WHERE id < 5")
    assert tables.sync("docs") == 5
