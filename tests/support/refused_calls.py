"""Let an action on a catalog meet one call to the system that fails, another one each time, and look at what is left.

Run by `support.calls.run`, as a process that has computed in threads must not fork: it imports what it needs and forks
once a moment, each time with a copy of the catalog of its own.
"""

import errno
import importlib
import json
import os
import shutil
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

from support.processes import in_child

NAME = "photos"
FAULTS = {"EIO": errno.EIO, "ENOSPC": errno.ENOSPC, "short": -1, "kill": None}
BESIDE = {"CURRENT", "LOCK", "versions", "log.sqlite", "log.sqlite.lock", "log.sqlite-wal", "log.sqlite-shm"}
BESIDE |= {"log.sqlite.last", "log.sqlite.seen", ".answered", "segments", "fits"}


def make(catalog):
    """Make what every action begins with: versions, the last of which was flushed, and writes that none has.

    At the address is the flushed version, of which a copy has the one before.
    """
    for data in (0, 1):
        small.build_full(catalog, data=data, correction="csls", parameters={"k": 3}, index="hnsw")
    (catalog / "files").mkdir()
    np.save(catalog / "files" / "bank.npy", small.query_bank())
    jobs.rewrite(catalog / "files", targets="items.parquet")
    jobs.write_targets(catalog / "files" / "items.parquet", jobs.names(0, 12), title=[str(row) for row in range(12)])
    publish(catalog)
    pull(catalog)
    with following(catalog) as living:
        for number in range(3):
            if number == 2:
                flush(hubless.Catalog(catalog), living.current.parts)
            put(living, number)
    publish(catalog)
    hubless.Catalog(catalog).set_alias("old", NAME)
    back_up(hubless.Catalog(catalog), catalog / "files" / "backup")


@contextmanager
def following(catalog):
    """The current version of the collection with the writes of its log."""
    opened = open_collection(catalog, NAME, lenient=True)
    log = hubless.Catalog(catalog).log(NAME)
    try:
        yield WritableCollection(opened, log)
    finally:
        log.close()


def put(living, number):
    """Put a target that depends on a number; it is there once this returns."""
    rows = small.vectors(1, 500 + number)
    payload = pa.Table.from_pylist([{"title": f"put {number}", "tags": None}], living.base.parts.payload_schema)
    write = Put(rows / np.linalg.norm(rows), pa.array([f"put-{number}"], pa.large_string()), payload)
    with living.log.writing() as appender, living.changing:
        living.catch_up()
        transaction = living.begin()
        transaction.add(appender.add(write.kind, write.encode()), write)
        transaction.collection()
        appender.commit()
        living.commit(transaction)


def build(catalog, told):
    small.build_full(catalog, data=7, correction="csls", parameters={"k": 3}, index="flat", replace_writes=True)


def write(catalog, told):
    """Each write stands by itself: after one that failed, the others go on."""
    errors = []
    with following(catalog) as living:
        for number in range(10, 14):
            try:
                put(living, number)
                told(acknowledged=number)
            except hubless.HublessError as error:
                errors.append(error)
                told(refused=number)
    if errors:
        raise errors[0]


def merged(catalog, told):
    merge(catalog, NAME, keep=1)


def flushed(catalog, told):
    with following(catalog) as living:
        living.catch_up()
        flush(hubless.Catalog(catalog), living.current.parts, keep=1)


def compacted(catalog, told):
    compaction.BEHIND = 0  # so that it is due
    done = compact(catalog, NAME, keep=1)
    assert done or not hubless.open(catalog, NAME).manifest.grown


def at_address(catalog, folder):
    """A catalog in object storage, of which `folder` has copies. Its objects are files."""
    there = catalog / "files" / "address"
    there.mkdir(exist_ok=True)
    objects._store = lambda address: LocalStore(there)
    return RemoteCatalog("s3://bucket", folder)


def publish(catalog):
    remote = at_address(catalog, catalog)
    remote.objects.remove(f"{NAME}/CURRENT")  # a file can be put as a new one only
    remote.push(NAME, remote.catalog.current(NAME), None)


def pull(catalog, told=None):
    at_address(catalog, catalog / COPIES["pull"]).pull(NAME)


def rollback(catalog, told):
    hubless.Catalog(catalog).rollback(NAME)


def prune(catalog, told):
    hubless.Catalog(catalog).prune(NAME, 1)


def alias(catalog, told):
    hubless.Catalog(catalog).set_alias("pictures", NAME)


def delete(catalog, told):
    with suppress(CollectionNotFound):
        hubless.Catalog(catalog).delete(NAME, aliases=True)


def reindex(catalog, told):
    hubless.reindex(catalog / "files" / "job.yaml", catalog=catalog)


def backed_up(catalog, told):
    copy = catalog / COPIES["backup"]
    whole(back_up(hubless.Catalog(catalog), copy), copy)


def restored(catalog, told):
    new = catalog / COPIES["restore"]
    whole(restore(catalog / "files" / "backup", hubless.Catalog(new)), new)


def whole(verdict, copy):
    """Take a copy away that lacks something, as somebody would who needs all of it."""
    if not verdict.sound:
        shutil.rmtree(copy, ignore_errors=True)
        raise StorageError(copy, verdict.problems[0].problem)


ACTIONS = {
    "build": build,
    "write": write,
    "merge": merged,
    "flush": flushed,
    "compaction": compacted,
    "pull": pull,
    "rollback": rollback,
    "prune": prune,
    "alias": alias,
    "delete": delete,
    "reindex": reindex,
    "backup": backed_up,
    "restore": restored,
}
COPIES = {"backup": "copy", "restore": "new", "pull": "pulled"}
"""The catalogs that actions make, in the folder of theirs."""
REPEATS = {"build", "merge", "flush", "compaction", "prune", "alias", "delete", "reindex", *COPIES}
"""Actions that come to the same if they are done again."""


def state(catalog):
    """What the collection holds and its aliases, after a look at all that can be wrong with a version."""
    found = hubless.Catalog(catalog)
    if not catalog.exists() or (catalog.name in COPIES.values() and NAME not in found.collections()):
        return None
    if NAME not in found.collections():
        return json.dumps(sorted(found.aliases()))
    if catalog.name == COPIES["pull"]:  # nobody writes to it
        copies = at_address(catalog.parent, catalog).catalog
        return json.dumps([targets_of(small.check_complete(copies)), [], None])
    with following(catalog) as living:
        living.catch_up()
        small.check_complete(catalog)
        return json.dumps([targets_of(living.current), sorted(found.aliases()), living.error])


def targets_of(opened):
    rows = np.arange(opened.count)
    vectors, payload = opened.vectors(rows).round(6).tolist(), opened.payload(rows)
    return sorted(zip(opened.ids(rows), vectors, map(str, payload), strict=True))


def leftovers(catalog):
    home = catalog / NAME
    if not home.exists():
        return [path.name for path in catalog.iterdir() if path.name.startswith(".deleted")]
    hidden = {path.name for path in (home / "versions").iterdir() if path.name.startswith(".")}
    hidden |= {path.name for path in (*catalog.glob(".unfinished*"), *catalog.parent.glob(".unfinished*"))}
    hidden |= small.unnamed(home)
    return sorted(({path.name for path in home.iterdir()} - BESIDE | hidden) - {".lease"})


def struck(action, catalog, moment, fault):
    """Do an action whose call number `moment` fails; what came of it, and the call."""

    def work(told):
        count = 0

        def strike(call, path, descriptor, size):
            nonlocal count
            if path.endswith("-shm"):  # memory, not the disk
                return 0
            count += 1
            if count != moment:
                return 0
            told(call=f"{call} {path.removeprefix(str(catalog))}")
            if fault == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            return FAULTS[fault] if fault != "short" or call == "write" else errno.EIO

        with calls.watching(catalog, strike):
            ACTIONS[action](catalog, told)
        told(calls=count, modules=sorted(sys.modules))

    return in_child(work)


def problem_of(action, catalog, outcome, expected):  # noqa: C901  # one question after the other, in their order
    """What is wrong with a catalog after an action that met a fault; None for nothing."""
    result = catalog / COPIES.get(action, "")

    def look(told):
        told(state=state(result))

    def again(told):
        found = hubless.Catalog(catalog)
        if action == "delete" and NAME not in found.collections():
            small.build(catalog)
        if action in COPIES and action != "pull" and state(result) == expected[1]:
            told(state=expected[1], left=[])  # it had come to its end, and refuses to do it twice
            return
        if action in REPEATS:
            ACTIONS[action](catalog, told)
        if action not in REPEATS or action == "compaction":  # another change clears up; the second may be due no more
            found.rollback(NAME, found.current(NAME))
        told(state=state(result), left=leftovers(result))

    if not outcome["known"]:
        return f"an error without a name: {outcome['text']}"
    found = in_child(look)
    if found["error"]:
        return f"cannot be opened: {found['text']}"
    if action == "write":
        there = {number for number in range(10, 14) if f'"put-{number}"' in found["state"]}
        lost = set(outcome.get("acknowledged", [])) - there
        if lost:
            return f"acknowledged writes are lost: {lost}"
        if any(f'"put-{number}"' not in found["state"] for number in range(3)):
            return "an earlier write is lost"
    elif found["state"] not in expected:
        return f"neither as before nor as after: {found['state']}"
    if outcome["error"] is None and action != "write" and found["state"] != expected[1]:
        return "it said that all went well, and nothing changed"
    mended = in_child(again)
    if mended["error"]:
        return f"the next run fails: {mended['text']}"
    if action in REPEATS and mended["state"] != expected[1]:
        return "the next run does not come to what the first was to come to"
    return f"it leaves {mended['left']}" if mended["left"] else None


def load(modules):
    """Import modules once here instead of in each child."""
    for module in modules:
        with suppress(Exception):
            importlib.import_module(module)


def main(root, most):
    template = root / "template"
    made = in_child(lambda told: make(template))
    assert made["error"] is None, made
    for action in ACTIONS:
        strike_each(root, template, action, most)


def strike_each(root, template, action, most):
    """Let each of so many calls of an action fail, in each way, and print what came of it."""

    def copied(name):
        return Path(shutil.copytree(template, root / name))

    expected = []
    for name in ("before", "after"):
        catalog = copied(name)
        if name == "after":
            peace = struck(action, catalog, 0, "EIO")
            assert peace["error"] is None, peace
            load(peace["modules"])
        looked = in_child(
            lambda told: told(state=state(catalog / COPIES.get(action, "")), modules=sorted(sys.modules))  # noqa: B023
        )
        assert looked["error"] is None, looked
        load(looked["modules"])
        expected.append(looked["state"])
        shutil.rmtree(catalog)
    total = peace["calls"]
    each, few = range(1, total + 1), most * len(FAULTS)
    spread = [1 + total * number // few for number in range(few)]
    moments = {fault: each if most >= total else spread[first :: len(FAULTS)] for first, fault in enumerate(FAULTS)}
    for fault, moment in [(fault, moment) for fault, some in moments.items() for moment in some]:
        catalog = copied(f"{fault}-{moment}")
        outcome = struck(action, catalog, moment, fault)
        told = {key: outcome.get(key) for key in ("call", "error", "text")}
        problem = problem_of(action, catalog, outcome, expected)
        about = {"action": action, "fault": fault, "moment": moment, "of": total}
        print(json.dumps(about | {"problem": problem} | told), flush=True)
        shutil.rmtree(catalog)


if __name__ == "__main__":
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet
    from obstore.store import LocalStore
    from support import calls, jobs, small

    import hubless
    from hubless.builder.backup import back_up, restore
    from hubless.builder.lifecycle import compact, flush, merge
    from hubless.builder.pipeline import compaction
    from hubless.errors import CollectionNotFound, StorageError
    from hubless.search.collection import open_collection
    from hubless.search.transaction import WritableCollection
    from hubless.search.writes import Put
    from hubless_objects import objects
    from hubless_objects.mirror import RemoteCatalog

    small.vectors(1, 0)
    main(Path(sys.argv[1]), int(sys.argv[2]))
