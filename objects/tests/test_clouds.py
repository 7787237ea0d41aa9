"""What is at az:// and gs://, against emulators. `make clouds` installs the one of az:// and runs this."""

import httpx
import pytest
from obstore.store import AzureStore, GCSStore
from support import clouds, small
from support.server_process import served
from support.until import until

import hubless
from hubless.errors import PreconditionFailed
from hubless_objects.objects import Objects

EMULATORS = {"az": clouds.azurite, "gs": clouds.google}
BUCKET = "hubless"


@pytest.fixture(scope="module", params=[pytest.param("az", marks=pytest.mark.slow), "gs"])
def emulator(request):
    """A scheme, and the variables that lead to its emulator."""
    if request.param == "az" and not clouds.AZURITE.exists():
        pytest.skip("Azurite is not installed: `make clouds` does it if Node 20 or newer is there")
    with EMULATORS[request.param](BUCKET) as variables:
        yield request.param, variables


@pytest.fixture
def files(emulator, monkeypatch, tmp_path):
    """The objects of an empty bucket. Copies of catalogs are in a folder of the test."""
    scheme, variables = emulator
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HUBLESS_CACHE", str(tmp_path / "copies"))
    kind = {"az": AzureStore, "gs": GCSStore}[scheme]
    bucket = kind(BUCKET, client_options={"allow_http": True})
    for block in bucket.list():
        for each in block:
            bucket.delete(each["path"])
    return bucket


@pytest.fixture
def address(files, emulator):
    return f"{emulator[0]}://{BUCKET}/some/catalog"


def test_objects_are_read_written_listed_and_removed(address, tmp_path):
    there = Objects(address)
    assert there.read("one") is there.tag("one") is there.size("one") is None
    there.replace("a/one", b"0123456789", None)
    assert there.read("a/one") == b"0123456789"
    assert there.read_part("a/one", 3, 7) == b"3456"
    assert (there.size("a/one"), there.size("a")) == (10, None)
    assert (there.names(), there.names("a"), there.names("b")) == (["a"], ["one"], [])
    there.fetch("a/one", tmp_path / "fetched", 10)
    assert (tmp_path / "fetched").read_bytes() == b"0123456789"
    (tmp_path / "file").write_bytes(b"x" * 100_000)
    there.put("a/two", tmp_path / "file")
    assert there.size("a/two") == 100_000
    for _ in range(2):
        there.remove("a/one")
    assert there.names("a") == ["two"]


def test_object_is_replaced_only_if_it_is_as_it_was(address):
    there = Objects(address)
    there.replace("one", b"first", None)
    with pytest.raises(PreconditionFailed, match="one was changed by somebody else"):
        there.replace("one", b"again", None)
    tag = there.tag("one")
    there.replace("one", b"second", tag)
    with pytest.raises(PreconditionFailed, match="one was changed by somebody else"):
        there.replace("one", b"third", tag)
    assert there.read("one") == b"second"
    with pytest.raises(PreconditionFailed, match="two was changed by somebody else"):
        there.replace("two", b"gone meanwhile", tag)


def test_service_serves_from_the_address_and_follows(address, tmp_path):
    first = small.build(address).version
    with served(address, cache=tmp_path / "cache", poll_seconds=0.2) as server:

        def version():
            body = {"vector": small.query_bank()[0].tolist()}
            answer = httpx.post(f"{server.url}/v1/collections/photos/query", json=body, timeout=60)
            return answer.json()["version"]

        assert version() == first
        second = small.build(address, data=1).version
        until(lambda: version() == second)
        hubless.RemoteCatalog(address).rollback("photos")
        until(lambda: version() == first)
