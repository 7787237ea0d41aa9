"""Servers that tests start end with them, and so does what the servers start."""

import fcntl
import subprocess
import sys

import pytest
from support import milvus as servers
from support.processes import environment, guarded
from support.until import until

# a program that starts another one and does not stop it, as the command of PyPI's `milvus` does
INNER = """
import fcntl, sys, time
held = open(sys.argv[1], "w")
fcntl.flock(held, fcntl.LOCK_EX)
print(flush=True)
time.sleep(600)
"""
OUTER = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {INNER!r}, sys.argv[1]])"
OWNER = "import sys, time; from support.processes import guarded; guarded(sys.argv[1:]); time.sleep(600)"


def wait_for_its_end(path):
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


class Outer(servers.Double):
    def _command(self):
        return [sys.executable, "-c", OUTER, str(self._folder)]

    def _answers(self):
        return self._folder.with_name("data.log").read_text() != ""


@pytest.mark.parametrize("fails", [False, True])
def test_server_of_a_block_ends_with_what_it_started(fails, tmp_path):
    def use():
        with servers.running(tmp_path, Outer):
            with (tmp_path / "data").open("w") as file, pytest.raises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if fails:
                raise KeyboardInterrupt

    if fails:
        with pytest.raises(KeyboardInterrupt):
            use()
    else:
        use()
    wait_for_its_end(tmp_path / "data")


def test_server_ends_when_the_tests_are_killed(tmp_path):
    command = [sys.executable, "-c", OWNER, sys.executable, "-c", OUTER, str(tmp_path / "data")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as owner:
        assert owner.stdout.readline() == b"\n"
        owner.kill()
        # the pipe is open while anybody holds it
        assert owner.stdout.read() == b""


def test_server_that_ends_by_itself_takes_along_what_it_started(tmp_path):
    leaving = OUTER.replace("subprocess.run", "subprocess.Popen")
    with guarded([sys.executable, "-c", leaving, str(tmp_path / "data")]) as process:
        until(lambda: process.poll() is not None)
    wait_for_its_end(tmp_path / "data")
