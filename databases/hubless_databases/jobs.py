"""Work that builds and jobs of hubless ask for, as `hubless.jobs.databases.Databases` says."""

from hubless_databases.addresses import parse_address
from hubless_databases.correct import publish_changed
from hubless_databases.spool import copied_rows

__all__ = ["copied_rows", "parse_address", "publish_changed"]
