"""Small disks of their own, which can be full or read-only."""

import errno
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def disk(path, megabytes):
    """Mount an empty disk at a path, for as long as the block lasts. Skips the test where that is not allowed."""
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", path]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs the command mount")
    if done.returncode:
        pytest.skip(f"needs to mount a small disk, as root may: {done.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


def remount(path, option):
    """Make a disk read-only ("ro") or writable ("rw") again."""
    subprocess.run(["mount", "-o", f"remount,{option}", path], check=True)


@contextmanager
def filled(path, left):
    """Fill the disk of a path, but for so many bytes."""
    ballast = Path(path).parent / "ballast"
    with ballast.open("wb") as file:
        while (size := shutil.disk_usage(path).free - left) > 0:
            try:
                os.posix_fallocate(file.fileno(), 0, size)
                break
            except OSError as error:  # somebody else took some of it just now
                if error.errno != errno.ENOSPC:
                    raise
    try:
        yield
    finally:
        ballast.unlink()
