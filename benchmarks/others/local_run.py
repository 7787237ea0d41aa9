"""A small run of the modules for other suites, on made vectors: `python -m benchmarks.others.local_run`.

`--vectordb-bench` needs the package of that name and our server and client. `--ann-benchmarks CHECKOUT` copies our
module into a checkout of that project, and lets its own runner measure a made data set. Each prints the recall that the
suite found.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

HERE = Path(__file__).parent
COUNT, ASKED, DIM, K = 5000, 200, 64, 10
SEED = 0


def vectordb_bench():
    """Return what the serial runner of VectorDBBench finds, without and with a filter, over HTTP."""
    from vectordb_bench.backend import clients
    from vectordb_bench.backend.filter import NewIntFilter, non_filter
    from vectordb_bench.backend.runner.serial_runner import SerialSearchRunner

    clients.__path__.append(str(HERE / "vectordb_bench"))
    from vectordb_bench.backend.clients.hubless.config import HublessConfig, HublessIndexConfig
    from vectordb_bench.backend.clients.hubless.hubless import Hubless

    rng = np.random.default_rng(SEED)
    targets, queries = (rng.normal(size=(count, DIM)).astype(np.float32) for count in (COUNT, ASKED))
    cosines = (queries @ targets.T) / np.linalg.norm(targets, axis=1)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "hubless", "serve", "--catalog", folder, "--port", "0", "--json"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            url = json.loads(server.stdout.readline())["url"]
            while httpx.get(f"{url}/readyz", timeout=60).status_code != 200:
                time.sleep(0.1)
            database = Hubless(DIM, HublessConfig(url=url).to_dict(), HublessIndexConfig(), drop_old=True)
            with database.init():
                done, error = database.insert_embeddings(targets.tolist(), list(range(COUNT)))
                if error is not None or done != COUNT:
                    raise SystemExit(f"{done} of {COUNT} were inserted: {error}")
                database.optimize(COUNT)
                for filters in (non_filter, NewIntFilter(int_value=COUNT // 2, filter_rate=0.5)):
                    database.prepare_filter(filters)
                    first = getattr(filters, "int_value", 0)
                    exact = first + np.argsort(-cosines[:, first:], axis=1)[:, :K]
                    ran = SerialSearchRunner(database, list(queries), exact.tolist(), K, filters)
                    found[filters.type.value] = ran.search((ran.test_data, ran.ground_truth))[0]
        finally:
            server.terminate()
            server.wait(60)
    return found


def ann_benchmarks(checkout):
    """Return what ann-benchmarks finds with each kind of index, by the settings of the module."""
    shutil.copytree(
        HERE / "ann_benchmarks" / "hubless", checkout / "ann_benchmarks" / "algorithms" / "hubless", dirs_exist_ok=True
    )
    found = {}
    for name in ("hubless-flat", "hubless-ivf", "hubless-hnsw"):
        given = ["--dataset", "random-xs-20-angular", "--algorithm", name, "--local", "--force", "--runs", "1"]
        subprocess.run([sys.executable, "run.py", *given], cwd=checkout, check=True)
        found[name] = recalls(checkout, name)
    return found


def recalls(checkout, name):
    """Return the recall of each run that ann-benchmarks has kept of an algorithm, by the run's name."""
    import h5py

    with h5py.File(checkout / "data" / "random-xs-20-angular.hdf5") as data:
        exact = data["distances"][:, :K]
    kept = {}
    for path in sorted((checkout / "results" / "random-xs-20-angular" / f"{K}" / name).glob("*.hdf5")):
        with h5py.File(path) as run:
            within = run["distances"][:, :K] <= exact[:, -1:] + 1e-3
            kept[run.attrs["name"]] = round(float(within.sum() / within.size), 4)
    return kept


def main():
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectordb-bench", action="store_true")
    parser.add_argument("--ann-benchmarks", type=Path, metavar="CHECKOUT")
    asked = parser.parse_args()
    if asked.vectordb_bench:
        print(json.dumps({"VectorDBBench": vectordb_bench()}))
    if asked.ann_benchmarks is not None:
        print(json.dumps({"ann-benchmarks": ann_benchmarks(asked.ann_benchmarks.resolve())}))


if __name__ == "__main__":
    main()
