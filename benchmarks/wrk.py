"""Load a server with `wrk`, which costs a fraction of what a generator in Python does. `apt-get install wrk`."""

import json
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import orjson

SCRIPT = Path(__file__).with_name("wrk.lua")
JSON, BINARY = "application/json", "application/octet-stream"


def is_installed():
    """Return True if it can be used."""
    return shutil.which("wrk") is not None


def json_bodies(rows, **more):
    """The bodies of JSON queries, one for each vector."""
    return [orjson.dumps({"vector": row, **more}, option=orjson.OPT_SERIALIZE_NUMPY) for row in rows]


def load(side, bodies: Iterable[bytes], connections, seconds, media_type=JSON, method="POST"):
    """Ask for a while, each connection again as soon as it is answered, after a warm-up of a second.

    Returns answers a second, latencies, and the processor time in milliseconds that the server took for an answer, and
    that `wrk` took.
    """
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(len(body).to_bytes(4, "little") + body for body in bodies))
        file.flush()
        command = ["wrk", "-t1", f"-c{connections}", "--latency", "-s", str(SCRIPT), side.url]
        given = ["--", file.name, media_type, method]
        _run([*command, "-d1", *given])
        before, before_wrk = processor_seconds(side.pid), _ended_seconds()
        found = _run([*command, f"-d{max(1, round(seconds))}", *given])
    took = {"cpu_ms": processor_seconds(side.pid) - before, "wrk_ms": _ended_seconds() - before_wrk}
    each = {name: 1e3 * seconds / max(found["answers"], 1) for name, seconds in took.items()}
    return {**found, "rate": (found["answers"] - found["refused"]) / found["seconds"], **each}


def _ended_seconds():
    """Processor time of the children of this process that have ended: of `wrk`, while a server runs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def processor_seconds(pid):
    """Processor time of a process and of its children, as far as they run."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own + sum(processor_seconds(child) for child in children)


def _run(command):
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(ended.stdout.splitlines()[-1])
