import pytest

from hubless.kernels import threads
from hubless.kernels.quota import core_limit, memory_limit

V2, V1 = "0::/pods/one\n", "8:cpu,cpuacct:/docker/ab12\n3:cpuset:/\n0::/\n"


def machine(root, groups, **files):
    """Files as the system shows them: the groups of this process, and what stands beside /sys/fs/cgroup."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(groups)
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        (V2, {"pods/one/cpu.max": "200000 100000\n"}, 2),
        (V2, {"pods/one/cpu.max": "150000 100000\n"}, 2),
        (V2, {"pods/one/cpu.max": "5000 100000\n"}, 1),
        (V2, {"pods/one/cpu.max": "max 100000\n"}, None),
        (V2, {"pods/one/cpu.max": "max 100000\n", "pods/cpu.max": "300000 100000\n"}, 3),
        (V2, {"pods/one/cpu.max": "400000 100000\n", "pods/cpu.max": "300000 100000\n"}, 3),
        (V2, {"cpu.max": "200000 100000\n"}, 2),
        (V2, {"pods/one/cpu.max": "broken\n"}, None),
        (V2, {}, None),
        (V1, {"cpu/cpu.cfs_quota_us": "250000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        (V1, {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        (V1, {"cpu/docker/ab12/cpu.cfs_quota_us": "100000\n", "cpu/docker/ab12/cpu.cfs_period_us": "100000\n"}, 1),
    ],
)
def test_limit_is_the_lowest_of_all_groups_that_the_process_is_in(tmp_path, groups, files, limit):
    assert core_limit(machine(tmp_path, groups, **files)) == limit


@pytest.mark.parametrize(("limit", "cores"), [(None, 8), (3, 3), (20, 8)])
def test_cores_are_those_that_the_process_may_run_on_or_fewer_by_the_limit(monkeypatch, limit, cores):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: range(8))
    monkeypatch.setattr(threads, "_limit_at_start", lambda: limit)
    assert threads.own_cores() == cores


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        (V2, {"pods/one/memory.max": "max\n", "pods/memory.max": "3000\n"}, 3000),
        ("4:memory:/docker/ab12\n", {"memory/memory.limit_in_bytes": "2000\n"}, 2000),
        (V2, {"memory.max": "90000\n"}, 4096),
    ],
)
def test_memory_is_the_least_that_the_groups_and_the_machine_have(tmp_path, groups, files, limit):
    root = machine(tmp_path, groups, **files)
    (root / "proc/meminfo").write_text("MemFree: 1 kB\nMemTotal:      4 kB\n")
    assert memory_limit(root) == limit
