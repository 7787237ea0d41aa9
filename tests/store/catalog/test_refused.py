import errno
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from support import processes, small

import hubless
from hubless.errors import StorageError, storage_errors
from hubless.store import aliases, catalog

AS_NOBODY = """
import os, sys
from pathlib import Path
from support import small
import hubless
from hubless.errors import HublessError

path = Path(sys.argv[1])
small.build(Path(sys.argv[2]))  # imports everything while we may
hubless.open(sys.argv[2], "photos").check_canaries()
if os.geteuid() == 0:  # root may do everything, whatever the modes say
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for action in sys.argv[3:]:
    try:
        eval(action)
        print("done")
    except HublessError as error:
        print(type(error).__name__, error)
"""


@pytest.fixture
def shared():
    """A folder that everybody can reach, with a catalog that everybody can read, twice."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o755)
        small.build_full(path / "catalog")
        shutil.copytree(path / "catalog", path / "other")
        yield path
        for entry in (path, *path.rglob("*")):
            if entry.is_dir():
                entry.chmod(0o755)


def test_missing_catalog_is_named_and_not_made(tmp_path):
    path = tmp_path / "catalog"
    catalog = hubless.Catalog(path)
    asked = (
        lambda: hubless.open(path, "photos"),
        catalog.collections,
        lambda: catalog.versions("photos"),
        lambda: catalog.rollback("photos"),
        lambda: catalog.prune("photos", 1),
    )
    for ask in asked:
        with pytest.raises(StorageError, match=r"catalog: there is no catalog here \(hubless build makes one\)"):
            ask()
    assert not path.exists()


@pytest.mark.parametrize(
    ("ask", "room", "reads"),
    [
        (hubless.Catalog.collections, Path, "iterdir"),
        (hubless.Catalog.collections, Path, "is_file"),
        (hubless.Catalog.aliases, aliases, "open_plain"),
        (lambda catalog: catalog.current("photos"), catalog, "open_plain"),
    ],
    ids=["before it is listed", "while it is listed", "aliases", "current"],
)
def test_catalog_that_goes_away_during_a_look_is_missing_and_not_empty(tmp_path, monkeypatch, ask, room, reads):
    path = tmp_path / "catalog"
    small.build(path)
    catalog = hubless.Catalog(path)
    catalog.set_alias("pictures", "photos")
    read = getattr(room, reads)

    def go_and_read(file, *args, **options):
        if path.exists():
            path.rename(tmp_path / "elsewhere")
        return read(file, *args, **options)

    monkeypatch.setattr(room, reads, go_and_read)
    with pytest.raises(StorageError, match="there is no catalog here"):
        ask(catalog)


def test_catalog_that_is_a_file_is_refused(tmp_path):
    path = tmp_path / "catalog"
    path.write_text("x")
    with pytest.raises(StorageError, match="there is no catalog here"):
        hubless.open(path, "photos")
    with pytest.raises(StorageError, match="catalog: a file is in the place of a folder"):
        small.build(path)
    with pytest.raises(StorageError, match="catalog: a file is in the place of a folder"):
        small.build(path / "below")
    assert path.read_text() == "x"


def test_catalog_that_cannot_be_written_read_or_entered_says_so(shared, tmp_path):
    path, other = shared / "catalog", shared / "other"
    for entry in (path, *path.rglob("*")):
        entry.chmod(0o555 if entry.is_dir() else 0o444)
    file = small.path_of(hubless.Catalog(other).folder("photos"), "offsets.npy")
    file.chmod(0)
    before = small.contents(path)
    (shared / "closed").mkdir(0)
    expected = {
        "hubless.open(path, 'photos').check_canaries()": "done",
        "small.build(path, 'songs')": f"StorageError {path / '.aliases.lock'}: no permission",
        "small.build(path)": f"StorageError {path / 'photos' / 'LOCK'}: no permission",
        "hubless.Catalog(path).rollback('photos')": f"StorageError {path / 'photos' / 'LOCK'}: no permission",
        "hubless.Catalog(path).prune('photos', 1)": f"StorageError {path / 'photos' / 'LOCK'}: no permission",
        "hubless.open(path.with_name('other'), 'photos')": f"StorageError {file}: no permission",
        "hubless.Catalog(path.with_name('closed')).collections()": f"StorageError {shared / 'closed'}: no permission",
        "hubless.Catalog(path.with_name('closed') / 'c').collections()": (
            f"StorageError {shared / 'closed' / 'c'}: no permission"
        ),
    }
    said = processes.python("-c", AS_NOBODY, path, tmp_path, *expected).splitlines()
    assert dict(zip(expected, said, strict=True)) == expected
    assert small.contents(path) == before


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "the disk quota is used up"),
        (errno.EROFS, "the disk is read-only"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_refusal_of_the_disk_is_said_in_words_with_the_path(number, words):
    for named in ((), ("folder/file",)):
        with pytest.raises(StorageError) as caught, storage_errors(Path("folder")):
            raise OSError(number, os.strerror(number), *named)
        assert str(caught.value) == f"{''.join(named) or 'folder'}: {words}"
    assert caught.value.code == "storage"
