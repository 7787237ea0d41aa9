from support import small

import hubless


def lock_of(catalog, version):
    (catalog / "photos" / "versions" / f".staging-{version}.lock").touch()


def test_leftovers_of_dead_processes_are_removed_by_the_next_build(tmp_path):
    first = small.build(tmp_path)
    versions = tmp_path / "photos" / "versions"
    for name in (".staging-20250101-aaa", ".deleted-20250101-bbb"):
        (versions / name).mkdir()
        (versions / name / "index.faiss").write_bytes(b"half")
    for version in ("20250101-aaa", "20250101-without-folder"):
        lock_of(tmp_path, version)
    second = small.build(tmp_path)
    assert small.entries(tmp_path) == [first.version, second.version]


def test_version_that_was_moved_but_never_current_is_removed_by_the_next_change(tmp_path):
    first, second, third = (small.build(tmp_path) for _ in range(3))
    catalog = hubless.Catalog(tmp_path)
    catalog.rollback("photos", second.version)
    lock_of(tmp_path, third.version)
    assert catalog.rollback("photos") == first.version
    assert small.entries(tmp_path) == [first.version, second.version]
