"""Passes over all targets on a Ray cluster of two nodes (`make extras`): the same bytes as in shards here."""

import os
import socket
from pathlib import Path

import numpy as np
import pytest
from support import executing as work
from support.processes import free_port

from hubless.builder import executors
from hubless.errors import CollectionNotFound, InputError
from hubless.kernels import sharding
from hubless.kernels.sharding import on_executor, over_shards
from hubless.store.catalog import Catalog
from hubless.vectors.sources import SharedVectors

ray = pytest.importorskip("ray", reason="needs Ray: make extras")
cluster_utils = pytest.importorskip("ray.cluster_utils")

from hubless_ray.executor import RayExecutor  # noqa: E402  # imports ray

pytestmark = pytest.mark.slow
# Ray rewrites 127.0.0.1 into the address of this machine, which other machines can reach
NODE = "127.0.0.2"
STORE = 100 * 2**20


def node():
    """Arguments of a node. Agents that choose a port themselves have 15 seconds to do so, and are slow to start."""
    ports = {f"{agent}_port": free_port() for agent in ("metrics_agent", "runtime_env_agent", "dashboard_agent_listen")}
    return {"num_cpus": 1, "object_store_memory": STORE, "node_ip_address": NODE, **ports}


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr(sharding, "SHARD_ROWS", work.SHARD_ROWS)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # the nodes have the work that goes wrong
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3] / "tests"))
    made = cluster_utils.Cluster(initialize_head=True, head_node_args={**node(), "include_dashboard": False})
    made.add_node(**node())
    monkeypatch.setenv("RAY_ADDRESS", made.address)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def connected(cluster):
    ray.init(address=cluster.address, log_to_driver=False)
    return RayExecutor("ray")


@pytest.fixture
def shared(tmp_path):
    rows = np.arange(work.SHARD_ROWS * 20 * 4, dtype=np.float32).reshape(-1, 4)
    rows.tofile(tmp_path / "rows")
    return SharedVectors(tmp_path / "rows", 4, 0, len(rows), "targets"), np.arange(len(rows))


@pytest.mark.parametrize(
    ("correction", "parameters"), [("auto", {}), ("sn", {"temperature": 0.3, "fit_sample": "all"}), ("nnn", {"k": 16})]
)
def test_a_cluster_gives_the_bytes_of_shards_here(cluster, tmp_path, monkeypatch, correction, parameters):
    on_cluster, _, folder = work.offsets_built(tmp_path / "ray", "ray", correction, parameters)
    monkeypatch.setattr(executors, "brought", lambda *_: work.InShards)
    here, _, _ = work.offsets_built(tmp_path / "here", "ray", correction, parameters)
    assert on_cluster.tobytes() == here.tobytes()
    assert not (folder / "shared").exists()


def test_a_node_that_is_lost_changes_nothing(cluster, connected, shared):
    source, along = shared
    node = cluster.add_node(num_cpus=2, object_store_memory=STORE, node_ip_address=NODE)
    cluster.wait_for_nodes()
    lost = []

    def lose(_):
        if not lost:  # after the first shard, while others are at work on both nodes
            lost.append(cluster.remove_node(node, allow_graceful=False))

    with on_executor(connected):
        expected = over_shards(source, work.sums, along)
        assert over_shards(source, work.slow_sums, along, advance=lose) == expected
    assert lost


@pytest.mark.parametrize("scheme", ["ray://", ""])
def test_an_address_that_does_not_answer_is_named(tmp_path, monkeypatch, scheme):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"{scheme}127.0.0.1:{unused.getsockname()[1]}"
    if not scheme:
        monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(InputError, match="executor: expected an address where"):
        work.offsets_built(tmp_path, address if scheme else "ray", "nnn", {"k": 16})
    with pytest.raises(CollectionNotFound):  # nothing was published
        Catalog(tmp_path).current("all")


def test_without_a_cluster_one_is_begun_and_ended(tmp_path, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert os.environ.get("RAY_ADDRESS") is None
    offsets, _, _ = work.offsets_built(tmp_path / "ray", "ray", "nnn", {"k": 16})
    assert not ray.is_initialized()
    here, _, _ = work.offsets_built(tmp_path / "here", "local", "nnn", {"k": 16})
    np.testing.assert_allclose(offsets, here, atol=1e-6)
