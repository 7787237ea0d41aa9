import shutil
import subprocess
import sys
import threading

import pytest
from support import processes, small

import hubless
from hubless.store import catalog as catalog_module

PREPARE = """
import sys
from pathlib import Path
from support import small
import hubless
from hubless.errors import HublessError

path = Path(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
"""
BUILD = PREPARE + "for data in range(4): print(small.build(path, data=data).version, flush=True)"
CHANGE = f"""{PREPARE}
catalog = hubless.Catalog(path)
for _ in range(20):
    try:
        catalog.rollback("photos")
        catalog.prune("photos", 2)
    except HublessError as error:
        print(type(error).__name__, flush=True)
"""


def run_together(catalog, *scripts):
    """Run scripts at once, each in a process of its own; the lines that each printed."""
    options = {"env": processes.environment(), "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    children = [subprocess.Popen([sys.executable, "-c", script, str(catalog)], **options) for script in scripts]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    printed = [child.communicate(timeout=120)[0].split() for child in children]
    assert [child.returncode for child in children] == [0] * len(children)
    return printed


def test_builds_of_several_processes_at_once_are_all_complete_and_one_is_current(tmp_path):
    catalog = tmp_path / "new" / "catalog"
    built = run_together(catalog, BUILD, BUILD)
    everything = sorted([*built[0], *built[1]])
    assert small.entries(catalog) == everything
    assert len(set(everything)) == 8
    for version in everything:
        small.check_complete(catalog, version)
    assert hubless.Catalog(catalog).current("photos") in {versions[-1] for versions in built}


def test_builds_rollbacks_and_deletions_at_once_leave_a_current_version_that_opens(tmp_path):
    for data in range(3):
        small.build(tmp_path, data=data)
    *_, problems, _ = run_together(tmp_path, BUILD, BUILD, CHANGE, CHANGE)
    assert set(problems) <= {"VersionNotFound"}  # none before the current one
    small.check_complete(tmp_path)
    assert [name for name in small.entries(tmp_path) if name.startswith(".")] == []
    for version in small.entries(tmp_path):
        small.check_complete(tmp_path, version)


def test_build_does_not_remove_what_a_living_build_is_writing(tmp_path):
    with hubless.Catalog(tmp_path).staging("photos") as living:
        (living.folder / "index.faiss").write_bytes(b"half")
        version = small.build(tmp_path).version
        assert (living.folder / "index.faiss").read_bytes() == b"half"
    assert small.entries(tmp_path) == [version]


def test_version_stays_that_was_current_only_until_its_build_ended(tmp_path):
    """Another build publishes while this one has published, and not yet cleared up."""
    template = small.build(tmp_path / "template")
    folder = small.folder(tmp_path / "template", template)
    catalog = hubless.Catalog(tmp_path / "catalog")
    with catalog.staging("photos") as first, catalog.staging("photos") as second:
        for staged in (first, second):
            for kind in ("segments", "fits"):
                shutil.copytree(folder.parents[1] / kind / template.version, staged.folder / kind / staged.version)
            shutil.copy(folder / "canary.npz", staged.folder)
            own = {"version": staged.version, "built": staged.version, "fit": staged.version, "files": {}}
            segments = [template.segments[0].model_copy(update={"name": staged.version})]
            staged.publish(template.model_copy(update=own | {"segments": segments}))
    assert small.entries(catalog.path) == sorted([first.version, second.version])
    assert small.check_complete(catalog.path).version == second.version
    small.check_complete(catalog.path, first.version)


def test_prune_waits_for_a_rollback_and_then_spares_its_version(tmp_path, monkeypatch):
    ids = [small.build(tmp_path, data=data).version for data in range(3)]
    catalog = hubless.Catalog(tmp_path)
    pruning = threading.Thread(target=catalog.prune, args=("photos", 1))
    verify = catalog_module.verify

    def verify_while_another_prunes(*arguments):
        pruning.start()
        pruning.join(0.2)
        verify(*arguments)

    monkeypatch.setattr(catalog_module, "verify", verify_while_another_prunes)
    catalog.rollback("photos", ids[0])
    pruning.join()
    assert small.entries(tmp_path) == [ids[0], ids[2]]
    assert small.check_complete(tmp_path).version == ids[0]


@pytest.mark.parametrize(
    "where",
    ["hubless.store.bundle.read_manifest", "hubless.store.bundle.verify", "hubless.search.engines.full.read_index"],
)
def test_version_that_is_pruned_while_it_is_opened_gives_way_to_the_new_current_one(tmp_path, monkeypatch, where):
    old = small.build(tmp_path)
    module, _, name = where.rpartition(".")
    step = getattr(sys.modules[module], name)

    def overtaken(*args, **options):
        monkeypatch.setattr(where, step)
        small.build(tmp_path, data=1)
        hubless.Catalog(tmp_path).prune("photos", 1)
        return step(*args, **options)

    monkeypatch.setattr(where, overtaken)
    opened = hubless.open(tmp_path, "photos")
    assert opened.version == hubless.Catalog(tmp_path).current("photos") != old.version
