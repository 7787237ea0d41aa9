"""A log that cannot be followed is told, and left alone for a while."""

from time import monotonic

from support import small, writing
from support.until import until
from support.writing import NAME, writable

import hubless
from hubless.errors import StorageError
from hubless.search.transaction import WritableCollection
from hubless.store.log import LOG
from hubless_service.searching.catalog_follower import SECONDS, CatalogFollower
from hubless_service.searching.collection_source import CatalogSource
from hubless_service.searching.shelf import Shelf
from hubless_service.settings import Settings


class Unreadable:
    """A log whose disk refuses, until it is well; counts the looks at it."""

    def __init__(self, path):
        self.path = path
        self.well = False
        self.looks = 0

    def last(self):
        self.looks += 1
        if not self.well:
            raise StorageError(self.path, "the disk refuses")
        return 0


def test_log_that_cannot_be_followed_shows_until_it_can(tmp_path, caplog):
    caplog.set_level("INFO", "hubless.writes")
    writing.build(tmp_path)
    with writable(tmp_path) as client:

        def state():
            return client.get("/readyz").json()["collections"][NAME]

        client.base_url = client.base_url.copy_with(path="/")
        assert "log" not in state()
        (tmp_path / NAME / LOG).mkdir()  # in the place of the file, which is made by the first write
        until(lambda: "log" in state())
        assert state()["status"] == "ready"
        assert state()["log"]["code"] == "storage"
        assert state()["log"]["detail"].startswith(f"{LOG}: it cannot be ")
        (tmp_path / NAME / LOG).rmdir()
        until(lambda: "log" not in state())
    told = [record.getMessage() for record in caplog.records if record.name == "hubless.writes"]
    assert [line.partition(": ")[2].partition(": ")[0] for line in told] == [
        "writes cannot be followed",
        "writes are followed again",
    ]


def test_pause_between_looks_doubles_while_a_log_cannot_be_followed(tmp_path, caplog):
    small.build(tmp_path)
    caplog.set_level("INFO", "hubless.writes")
    log = Unreadable(tmp_path / LOG)
    living = WritableCollection(hubless.Collection(hubless.open(tmp_path, NAME).parts), log)
    shelf = Shelf()
    shelf.living = lambda: [living]
    (tmp_path / "empty").mkdir()
    source = CatalogSource(tmp_path / "empty")
    follower = CatalogFollower(source, shelf, Settings(catalog=tmp_path), lambda: None)
    began = monotonic()
    follower.start()
    try:
        until(lambda: log.looks == 5)
        assert monotonic() - began >= (1 + 1 + 2 + 4 + 8) * SECONDS
        assert sum(record.name == "hubless.writes" for record in caplog.records) == 1
        log.well = True
        until(lambda: living.error is None)
        looks = log.looks
        until(lambda: log.looks > looks + 3)
    finally:
        follower.stop()
    assert sum(record.name == "hubless.writes" for record in caplog.records) == 2
