"""mteb on sets of vectors: its own search beside ours, raw and corrected. It loads nothing from the network.

    python -m benchmarks.others.mteb_tasks FOLDER … [--seeds 3]

needs `mteb` (`make mteb` has it). A set is what `benchmarks.real_sets` reads. Its strict splits are tasks of mteb: half
of the targets is the corpus, queries of the other half are the split `train`. A set with a bank of its own has one
task: all targets, and the bank as `train`. mteb encodes texts; ours name rows, whose vectors are looked up.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import mteb
import numpy as np
from datasets import Dataset
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models import SearchEncoderWrapper
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction

from benchmarks.others.tables import MEASURES, MTEB, of_mteb
from benchmarks.real_sets import open_set, trial
from hubless.vectors.arrays import F32
from hubless_lab.experiments.trials import Trial
from hubless_lab.mteb_index import CorrectedIndex

WAYS = ("mteb", "none", "auto")


class StoredVectors(AbsEncoder):
    """A model that knows the vectors (n, d) of some kinds of texts: "kind 7" is row 7 of a kind."""

    def __init__(self, vectors: Mapping[str, F32]) -> None:
        """Take vectors by kind, such as {"query": …, "document": …}."""
        meta = {"name": "hubless/stored", "revision": "1", "similarity_fn_name": ScoringFunction.COSINE}
        self.mteb_model_meta = ModelMeta.create_empty(overwrites=meta)
        self._vectors = vectors

    def encode(self, inputs: Any, **settings: Any) -> F32:
        """Return the vectors of the texts of all batches."""
        named = [text.split() for batch in inputs for text in batch["text"]]
        return np.stack([self._vectors[kind][int(row)] for kind, row in named])


class StoredTask(AbsTaskRetrieval):
    """A retrieval task of texts that name rows: the splits `train` and `test` search the same corpus."""

    metadata = TaskMetadata(
        name="StoredTask",
        description="Vectors that were made before",
        dataset={"path": "none", "revision": "none"},
        type="Retrieval",
        category="t2t",
        eval_langs=["eng-Latn"],
        main_score="ndcg_at_10",
    )
    k_values = (1, 10)  # to score 1,000 hits a query takes minutes

    def __init__(self, given: Trial) -> None:
        """Take queries, bank, targets and labels of a trial."""
        super().__init__()
        right = {
            f"query {row}": {f"document {each}": 1 for each in rows.tolist()} for row, rows in enumerate(given.relevant)
        }
        shared = {"corpus": _named("document", len(given.targets)), "relevant_docs": right, "top_ranked": None}
        queries = {"test": _named("query", len(given.rows)), "train": _named("bank", len(given.query_bank))}
        self.dataset = {"default": {split: shared | {"queries": rows} for split, rows in queries.items()}}
        self.data_loaded = True


def model_of(given: Trial) -> StoredVectors:
    """Return the model that knows the vectors of a trial."""
    return StoredVectors({"query": given.queries, "document": given.targets, "bank": given.query_bank})


def scores(given: Trial) -> dict[str, dict[str, float]]:
    """Return mteb's scores of its own search, and of ours without and with a correction."""
    model = model_of(given)
    found = {}
    for way in WAYS:
        searched: Any = model
        if way != "mteb":
            index = CorrectedIndex(model, way)
            index.learn(StoredTask(given))
            searched = SearchEncoderWrapper(model, index_backend=index)
        result = mteb.evaluate(searched, StoredTask(given), cache=None, show_progress_bar=False)
        found[way] = result.task_results[0].scores["test"][0]
    return found


def trials(folder: Path, seeds: int) -> Iterator[Trial]:
    """Yield the strict splits of a set, or the one trial with its own bank."""
    data = open_set(folder)
    for seed in range(seeds if data.bank is None else 1):
        given = trial(data, None, seed)
        if given is not None:
            yield given


def measure(folder: Path, seeds: int) -> dict[str, Any]:
    """Return the means over the tasks of a set, in percent, and if ours without correction is as mteb's."""
    found = [scores(given) for given in trials(folder, seeds)]
    means = {
        way: {name: round(100 * float(np.mean([each[way][name] for each in found])), 2) for name in MEASURES}
        for way in WAYS[1:]
    }
    return {
        "set": folder.resolve().name,
        "tasks": len(found),
        **means,
        "same": all(e["mteb"] == e["none"] for e in found),
    }


def main() -> None:
    """Measure the sets, print a table in Markdown, and keep the figures for the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    kept = []
    for folder in asked.folders:
        kept.append(measure(folder, asked.seeds))
        print(json.dumps(kept[-1]), flush=True)
    print(*of_mteb(kept), sep="\n")
    MTEB.write_text("[\n" + ",\n".join(json.dumps(each) for each in kept) + "\n]\n", "utf-8")


def _named(kind: str, count: int) -> Dataset:
    names = [f"{kind} {row}" for row in range(count)]
    return Dataset.from_dict({"id": names, "text": names})


if __name__ == "__main__":
    main()
