"""PostgreSQL with pgvector: operator <#>. Its HNSW index takes 2,000 dimensions."""

from hubless.exporting.engines.base import Engine
from hubless.exporting.kinds import Kind
from hubless.exporting.names import Names

_SCRIPT = '''
import psycopg
from psycopg import sql

MOST_INDEXED = 2000
"""Numbers of a vector that an HNSW index takes."""
TABLE = sql.Identifier(NAME)


def connect():
    # without DATABASE_URL, PGHOST, PGDATABASE and so on are used
    return psycopg.connect(os.environ.get("DATABASE_URL", ""))


def as_text(vector):
    return "[" + ",".join(map(str, vector.tolist())) + "]"


def load(client, replace):
    if client.execute("SELECT to_regclass(quote_ident(%s))", [NAME]).fetchone()[0] is not None:
        refuse_unless(replace)
        client.execute(sql.SQL("DROP TABLE {}").format(TABLE))
    client.execute("CREATE EXTENSION IF NOT EXISTS vector")
    kinds = {"id": f"{'bigint' if WHOLE_IDS else 'text'} PRIMARY KEY", "vector": f"vector({WIDTH})", **COLUMNS}
    columns = [sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind)) for name, kind in kinds.items()]
    client.execute(sql.SQL("CREATE TABLE {} ({})").format(TABLE, sql.SQL(", ").join(columns)))
    names = sql.SQL(", ").join(map(sql.Identifier, kinds))
    with client.cursor().copy(sql.SQL("COPY {} ({}) FROM STDIN").format(TABLE, names)) as copy:
        for ids, vectors, payloads in blocks(1000, parsed=False):
            for wanted, vector, payload in zip(ids, vectors, payloads):
                copy.write_row([wanted, as_text(vector), *payload.values()])
    if WIDTH <= MOST_INDEXED:
        # vector_ip_ops, not vector_cosine_ops: that would divide by the length, and the offset with it
        client.execute(sql.SQL("CREATE INDEX ON {} USING hnsw (vector vector_ip_ops)").format(TABLE))
    # above that, an index is possible over vector::halfvec, of up to 4,000; rank what it finds again by the vector
    client.commit()


def query(client, vector, limit=10, strength=STRENGTH):
    """The ids and corrected scores of the best targets, best first."""
    asked = as_text(augmented(vector, strength))
    # of 20,000 targets, 200 finds 98 % of the ten best, 400 finds 99.7 %
    client.execute(f"SET hnsw.ef_search = {min(max(400, limit), 1000)}")
    statement = "SELECT id, -(vector <#> %s::vector) FROM {} ORDER BY vector <#> %s::vector LIMIT %s"
    return client.execute(sql.SQL(statement).format(TABLE), [asked, asked, limit]).fetchall()
'''

PGVECTOR = Engine(
    title="PostgreSQL with pgvector",
    packages=("psycopg[binary]>=3.1",),
    script=_SCRIPT,
    tested="PostgreSQL 16 with pgvector 0.6",
    most_width=16_000,
    collection=Names(most=63),
    columns=Names(most=63),
    types={
        Kind.BOOL: "boolean",
        Kind.WHOLE: "bigint",
        Kind.NUMBER: "double precision",
        Kind.TEXT: "text",
        Kind.DATE: "date",
        Kind.TIME: "timestamp",
        Kind.INSTANT: "timestamptz",
        Kind.JSON: "jsonb",
    },
    most_id_bytes=2_000,  # an index of PostgreSQL holds a third of a page
)
