"""Every command of the command line, with arguments that make it print something."""

import importlib.util
import json

import numpy as np
import typer
from support.hubs import pairs

from hubless.cli import application
from hubless.store.draws import SALT
from hubless.store.query_sample import SampledQuery, SampleWriter

COUNT = 300


def commands():
    """Name -> command, those of the library and those that its entry points add."""
    return dict(_flat(typer.main.get_command(application.app)))


def _flat(group, above=""):
    """Commands of groups by the names of both: `bank show`."""
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            yield from _flat(command, f"{name} ")
        else:
            yield f"{above}{name}", command


COMMANDS = list(commands())

_ON = "--catalog {}/catalog --collection things"
_TARGETS = "--targets {}/targets.npy"
_BANK = f"{_TARGETS} --query-bank {{}}/bank.npy"
_LABELS = "--queries {}/queries.npy --relevant {}/right.npy"
WORDS = {
    "build": f"{_ON} {_BANK} --payload {{}}/payload.csv --correction nnn --set k=4",
    "inspect": _ON,
    "list": "--catalog {}/catalog",
    "rollback": _ON,
    "alias": "--catalog {}/catalog other things",
    "prune": f"{_ON} --keep 1",
    "delete": f"{_ON} --yes",
    "merge": _ON,
    "reindex": "{}/job.yaml --catalog {}/catalog",
    "bank show": "--queries {}/live/things",
    "bank check": f"{_ON} --bank {{}}/bank.npy --live-queries {{}}/queries.npy",
    "bank forget": "--queries {}/live/things --all",
    "correct": "qdrant://{}/qdrant/things --query-bank {}/bank.npy --set bank_of_targets=true",
    "query": f"{_ON} --vectors {{}}/one.npy",
    "evaluate": f"{_TARGETS} {_LABELS} --strict --set seeds=2 --correction none --correction auto",
    "tune": f"{_TARGETS} {_LABELS} --set seeds=1 --set folds=2 --set corrections=none,csls",
    "diagnose": _BANK,
    "scan": f"{_TARGETS} --queries {{}}/queries.npy",
    "report": f"{_BANK} --output {{}}/report.html",
}
VARIANTS = {
    "reindex, planned": "reindex {}/job.yaml --catalog {}/catalog --plan",
    "query, explained": f"query {WORDS['query']} --set explain=true",
    "query, compared": f"query {WORDS['query']} --compare",
    "evaluate a collection": f"evaluate {_ON} {_LABELS}",
}


def words(command, folder):
    """The arguments of a command, or of a variant with the command in front."""
    return (WORDS | VARIANTS)[command].replace("{}", str(folder)).split()


def write_files(folder):
    queries, targets, _ = pairs(2 * COUNT, apart=1.5)
    np.save(folder / "targets.npy", targets[:COUNT])
    _write_qdrant(folder / "qdrant", targets[:40])
    np.save(folder / "bank.npy", queries[COUNT:])
    np.save(folder / "queries.npy", queries[:COUNT])
    np.save(folder / "one.npy", queries[:1])
    np.save(folder / "right.npy", np.arange(COUNT))
    lines = [f"a thing of many words with the number {row},{1990 + row % 30}" for row in range(COUNT)]
    (folder / "payload.csv").write_text("\n".join(["title,year", *lines]))
    job = {"version": 1, "collection": "followed", "targets": "targets.npy", "query_bank": "bank.npy"}
    (folder / "job.yaml").write_text(
        json.dumps({**job, "gates": {"recall": {"min": 0.9}, "rows": {"max_change": 0.5}}})
    )
    write_sample(folder / "live", queries[:COUNT])


def write_sample(folder, vectors, clients=("shop", "phone"), collection="things", at=0.0):
    """A query sample of a collection, as the service writes it, with the same draws in each run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SALT).write_bytes(bytes(32))
    writer = SampleWriter(folder)
    writer.add(
        [
            SampledQuery(collection, "cosine", vector, clients[row % len(clients)])
            for row, vector in enumerate(np.asarray(vectors, np.float32))
        ],
        at,
    )


def _write_qdrant(folder, targets):
    if importlib.util.find_spec("qdrant_client") is None:
        return  # an older environment: only the tests that need it fail
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path=str(folder))
    client.create_collection("things", models.VectorParams(size=targets.shape[1], distance=models.Distance.COSINE))
    client.upsert("things", [models.PointStruct(id=n, vector=row.tolist()) for n, row in enumerate(targets)])
    client.close()
