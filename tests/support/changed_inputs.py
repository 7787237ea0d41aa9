"""Builds during which one of their input files is cut, replaced, written over or removed, at one moment after another.

Run as a script that forks for each moment, so that a build that the change kills is seen to be killed.
"""

import json
import os
import shutil
import sys
from pathlib import Path

from support.processes import in_child, python

CHANGES = ("cut", "replaced", "written over", "removed")
INPUTS = ("npy", "parquet", "shards", "csv", "payload", "encoder")
OLD, NEW = 0, 1
ROOMS = ("/hubless/vectors/", "/hubless/builder/", "/hubless/encoders/")

BEGIN, END = "Inputs.open", "fit_version"
"""The functions that a build calls before it reads its inputs, and when it has read them all."""


def run(kinds, root, moments):
    """Build while inputs of these kinds change, at about so many moments. Return what became of them.

    `error` and `text` are those of an exception, `right` says whether the version is that of the file at first.
    """
    return [json.loads(line) for line in python(__file__, root, moments, *kinds).splitlines()]


def write(kind, path, data):
    """Write the input of this kind with some data; the file that changes, and what to build from."""
    rows, ids = small.targets(data), [f"{data}-{row}" for row in range(small.COUNT)]
    texts = [f"title {data} {row}" for row in range(small.COUNT)]
    if kind == "npy":
        file = files.write_npy(path / "targets.npy", rows)
        return file, {"targets": file}
    if kind == "parquet":
        file = files.write_parquet(path / "targets.parquet", rows, id=ids, title=texts)
        return file, {"targets": file}
    if kind == "shards":
        (path / "targets").mkdir(exist_ok=True)
        files.write_parquet(path / "targets" / "a.parquet", rows[:20], id=ids[:20], title=texts[:20])
        file = files.write_parquet(path / "targets" / "b.parquet", rows[20:], id=ids[20:], title=texts[20:])
        return file, {"targets": path / "targets"}
    if kind == "encoder":
        small.encoder().save(path)
        file = path / "encoder.npy"
        files.write_npy(file, np.load(file) * (1 + data))
        return file, {"encoder": path}
    file = path / f"payload.{'parquet' if kind == 'payload' else kind}"
    if kind == "payload":
        pq.write_table(pa.table({"title": texts}), file, row_group_size=7)
    else:
        file.write_text("\n".join(["title", *texts]))
    return file, {"payload": file}


def change(how, file, other):
    if how == "cut":
        os.truncate(file, file.stat().st_size // 2)
    elif how == "removed":
        file.unlink()
    elif how == "replaced":
        other.replace(file)
    else:
        with file.open("r+b") as opened:
            opened.write(other.read_bytes())
            opened.truncate()


def build(catalog, given):
    given = {"targets": small.targets(), **given}
    manifest = hubless.build(catalog, "photos", query_bank=small.query_bank(), correction="csls", index="flat", **given)
    return small.folder(catalog, manifest), manifest


def fingerprint(folder, manifest):
    """What a version holds, and of which files it says that it is."""
    kept = {name.replace(manifest.version, "*"): record.sha256 for name, record in manifest.files.items()}
    return {**kept, "inputs": {name: record.sha256 for name, record in manifest.provenance.inputs.items()}}


def calls(act):
    """Call `act(n)` before the n-th call of a function of the rooms that read inputs, while they read."""
    count = 0

    def look(frame, event, _):
        nonlocal count
        name = frame.f_code.co_qualname
        if event == "call" and (count or name == BEGIN) and any(room in frame.f_code.co_filename for room in ROOMS):
            count += 1
            sys.setprofile(None)
            act(count)
            if name != END:
                sys.setprofile(look)

    sys.setprofile(look)


def attempt(kind, how, moment, place, right):
    """Build in a new folder, with a change before the call of that number; 0 counts the calls."""
    place.mkdir()
    file, given = write(kind, place, OLD)
    (place / "other").mkdir()
    other, _ = write(kind, place / "other", NEW)
    os.utime(file, (0, 0))  # or the clock of the file system may not have moved on since
    calls_made = []

    def act(number):
        calls_made.append(number)
        if number == moment:
            change(how, file, other)

    calls(act)
    made = fingerprint(*build(place / "catalog", given))
    if not moment:
        return {"last": calls_made[-1]}
    return {"right": made == right}


def main(root, moments, kinds):
    for kind in kinds:
        (place := root / kind / "right").mkdir(parents=True)
        right = fingerprint(*build(place / "catalog", write(kind, place, OLD)[1]))
        last = in_child(lambda tell: tell(**attempt(kind, None, 0, root / kind / "0", None)))["last"]  # noqa: B023
        for how in CHANGES:
            for moment in sorted({1 + (last - 1) * part // (moments - 1) for part in range(moments)}):
                place = root / kind / how / str(moment)
                place.parent.mkdir(exist_ok=True)
                found = in_child(lambda tell: tell(**attempt(kind, how, moment, place, right)))  # noqa: B023
                shutil.rmtree(place)
                told = {name: found.get(name) for name in ("error", "text", "right")}
                print(json.dumps({"kind": kind, "change": how, "moment": moment, **told}), flush=True)


if __name__ == "__main__":
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    from support import files, small

    import hubless

    os.fsync = lambda descriptor: None  # nobody cuts the power here
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
