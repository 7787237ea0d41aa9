"""Collections that are built in milliseconds, for tests that need many of them, or that damage them."""

import json

import numpy as np
import pyarrow as pa

import hubless
from hubless.encoders import BagOfWords
from hubless.search.writes import Put, Remove
from hubless.store import bundle

DIM, COUNT, BANK = 8, 40, 60
WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord"]
NOT_NAMES = [
    "",
    ".",
    "..",
    "../a",
    "a/..",
    "a/b",
    "/a",
    "a\0b",
    "%2e%2e",
    "a.b",
    ".a",
    "-a",
    "_a",
    "a b",
    "ä",
    "a\n",
    "a" * 65,
]
"""What no collection and no alias can be called."""
IDS = ["", "0", "-1", "a/b", "ä ö", "😀", "\ufffd", "x" * 1000, *(f"target-{row}" for row in range(8, COUNT))]


def vectors(rows, seed):
    return np.random.default_rng(seed).normal(size=(rows, DIM)).astype(np.float32)


def targets(seed=0):
    return vectors(COUNT, seed)


def query_bank():
    return vectors(BANK, 1001)


def encoder():
    return BagOfWords({word: row for row, word in enumerate(WORDS)}, vectors(len(WORDS), 1002))


def payload():
    return [{"title": f"title {row}", "tags": [row, None]} for row in range(COUNT)]


def build(catalog, name="photos", *, data=0, correction="none", **options):
    """Build a version, of other targets for other `data`; its manifest."""
    return hubless.build(catalog, name, targets(data), query_bank(), correction=correction, **options)


def build_full(catalog, name="photos", **options):
    """Build a version that has every file that a bundle can have."""
    return build(catalog, name, ids=IDS, payload=payload(), encoder=encoder(), **options)


def merged(catalog, name="photos", *, seed=7, **options):
    """Build a version, and another by a merge of writes: it names the segment and the fit of the first one.

    One target is gone; a written segment has three, the second of them without a vector. Return both manifests.
    """
    first = build_full(catalog, name, index="flat", **options)
    home = hubless.Catalog(catalog)
    rows = vectors(3, seed)
    rows[1] = 0
    put = Put(rows, pa.array(["one", "two", "three"], pa.large_string()), None, np.array([True, False, True]))
    record(home.log(name), put, Remove(pa.array(IDS[-1:], pa.large_string())))
    return first, hubless.merge(home.path, name)


def record(log, *writes):
    """Append writes to a log as the service does; the number of the last."""
    with log.writing() as appender:
        for each in writes:
            appender.add(each.kind, each.encode())
        appender.commit()
    log.close()
    return appender.last


def folder(catalog, manifest):
    return catalog / manifest.collection / "versions" / manifest.version


def path_of(folder, name):
    """The path of a file of a version by its bare name, wherever it lies: that of the first segment, or of the fit."""
    return next(path for path in paths(folder) if path.name == name)


def paths(folder):
    """The paths of all files of a version, those of its segments and of its fit too, and not the manifest."""
    return [bundle.path_of(folder, file) for file in bundle.read_manifest(folder).files]


def unnamed(home):
    """The segments and fits of a collection that no version names, hidden ones too, by path from its folder."""
    versions = [path for path in (home / "versions").iterdir() if not path.name.startswith(".")]
    named = {path.parent for version in versions for path in paths(version)}
    there = {path for kind in (bundle.SEGMENTS, bundle.FITS) for path in (home / kind).glob("*")}
    return {str(path.relative_to(home)) for path in there - named}


def contents(path):
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def entries(catalog, name="photos"):
    """What lies in the folder of versions, hidden entries too."""
    versions = catalog / name / "versions"
    return sorted(entry.name for entry in versions.iterdir()) if versions.exists() else []


def check_complete(catalog, version=None, name="photos"):
    """Fail unless a version can be opened, its hashes are right, and its canaries live."""
    opened = hubless.open(catalog, name, version=version)
    opened.check_canaries()
    assert opened.query(query_bank()[0]).rows.shape == (1, 10)
    return opened


def reseal(path, **changes):
    """Make the manifest of a bundle right again after its files were changed, with other changes if wanted.

    Files that are gone are dropped from it, and new ones in its folder come to it.
    """
    manifest = bundle.read_manifest(path)
    there = {file: bundle.path_of(path, file) for file in changes.pop("files", manifest.files)}
    files = {file: bundle.record_of(place) for file, place in there.items() if place.is_file()}
    return bundle.seal(path, manifest.model_copy(update={"files": files} | changes))


def write_sealed(path, content):
    """Write a manifest of any content, with its right hash."""
    (path / bundle.MANIFEST).write_text(bundle.sealed_text(content), "utf-8")


def read_plain(path):
    """The content of a manifest as plain JSON, without its hash."""
    content = json.loads((path / bundle.MANIFEST).read_text("utf-8"))
    del content["manifest_sha256"]
    return content
