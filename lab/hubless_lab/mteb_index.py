"""mteb's search by one of its models, corrected: an index that its `SearchEncoderWrapper` takes as backend."""

from collections.abc import Sequence
from typing import Any

import torch
from mteb.models import SearchEncoderWrapper

import hubless
from hubless.errors import InputError

CORPUS_CHUNK = 50_000
"""So many documents are compared at once, as mteb does it: then products are the same to the last digit."""


class CorrectedIndex:
    """Ranks by the model's own similarity less λ times the offset of each document; raw without a query bank.

    Give `cache=None` to `mteb.evaluate`: it keeps results by the model, whatever the index. `query_bank` (b, d) may be
    set, too.
    """

    def __init__(self, model: Any, correction: str = "auto", strength: float = 1.0) -> None:
        """Take an encoder of mteb. Raises `InputError` unless its similarity is cosine or dot."""
        self._metric: Any = str(model.mteb_model_meta.similarity_fn_name)
        if self._metric not in ("cosine", "dot"):
            raise InputError("model", "one whose similarity is cosine or dot", self._metric)
        self._model = model
        self._correction = correction
        self._strength = strength
        self.query_bank: Any = None
        self.clear()

    def learn(self, task: Any, split: str = "train", subset: str = "default", **encode_kwargs: Any) -> None:
        """Take the queries of a split as bank, such as of `mteb.get_task(NAME, eval_splits=["train"])`.

        None of their right documents should be among those that are searched later.
        """
        self.query_bank = None
        task.load_data()
        task.convert_v1_dataset_format_to_v2(num_proc=None)
        data = task.dataset[subset][split]
        of_split: Any = {"hf_split": split, "hf_subset": subset, "encode_kwargs": encode_kwargs}
        searched = SearchEncoderWrapper(self._model, index_backend=self)
        # mteb encodes queries where it searches for them: one document will do
        searched.index(data["corpus"].select([0]), task_metadata=task.metadata, **of_split)
        searched.search(data["queries"], top_k=1, task_metadata=task.metadata, **of_split)
        self.query_bank = self._asked

    def add_documents(self, embeddings: Any, idxs: Sequence[str]) -> None:
        """Take the vectors (n, d) of all documents, and their ids."""
        self._documents = torch.as_tensor(embeddings)
        self._rows = {name: row for row, name in enumerate(idxs)}

    def search(
        self, embeddings: Any, top_k: int, similarity_fn: Any, top_ranked: Any = None, query_idx_to_id: Any = None
    ) -> tuple[list[list[float]], list[list[int]]]:
        """Return scores and rows of the best documents of each query (m, d): one more than `top_k`, as mteb does.

        With `top_ranked`, documents by query, return places among these.
        """
        self._asked = torch.as_tensor(embeddings)
        offsets = self._strength * self._offsets()

        def best(queries: Any, rows: Any, most: int) -> Any:
            scores = torch.as_tensor(similarity_fn(queries, self._documents[rows]))
            return torch.topk(scores - offsets[rows].to(scores.device), min(most, scores.shape[1]))

        if top_ranked is not None:
            asked = zip(self._asked, query_idx_to_id.values(), strict=True)
            hits = [best(query[None], [self._rows[name] for name in top_ranked[of]], top_k) for query, of in asked]
            return [each.values[0].tolist() for each in hits], [each.indices[0].tolist() for each in hits]
        starts = range(0, len(offsets), CORPUS_CHUNK)
        found = [(start, *best(embeddings, slice(start, start + CORPUS_CHUNK), top_k + 1)) for start in starts]
        scores = torch.cat([values for _, values, _ in found], 1)
        return scores.tolist(), torch.cat([start + rows for start, _, rows in found], 1).tolist()

    def clear(self) -> None:
        """Forget the documents, and keep the bank."""
        self.add_documents(torch.empty(0), [])

    def _offsets(self) -> torch.Tensor:
        if self.query_bank is None:
            return torch.zeros(len(self._documents))
        given = (torch.as_tensor(each).float().cpu().numpy() for each in (self._documents, self.query_bank))
        return torch.from_numpy(hubless.offsets(*given, metric=self._metric, correction=self._correction))
