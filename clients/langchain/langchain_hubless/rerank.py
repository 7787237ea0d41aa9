"""A retriever that corrects the ranking of any other one for hubs, by what its log has taught."""

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_hubless.scored import ScoredRetriever


class HublessRerank(ScoredRetriever):
    """The documents of a vector store or of a retriever for a query, in their corrected order.

    The metadata of each document has its corrected score.

    Attributes
    ----------
    retriever : a vector store of any kind, or a retriever whose documents have their scores in the metadata; let it
        return as many documents as `candidates`
    correction : a `hubless.ScoreCorrection` that was fitted on the log of the same retriever
    candidates : how many documents a vector store is asked for
    id : under which name the metadata have the ids of the log; None for the `id` of a document
    accuracy : answer only where this share is right at first; needs a calibrated correction. None answers always
    k : number of documents
    score : under which name documents have their scores
    """

    correction: Any
    candidates: int = 50
    id: str | None = None
    accuracy: float | None = None

    @property
    def wanted(self) -> int:
        return max(self.k, self.candidates)

    def answer(self, found: Sequence[tuple[Document, float]]) -> list[Document]:
        documents = {self._id_of(document): document for document, _ in found}
        ids, scores = [self._id_of(document) for document, _ in found], [float(score) for _, score in found]
        if self.accuracy is not None and not self.correction.accept(ids, scores, self.accuracy):
            return []
        best = self.correction.rerank(ids, scores, limit=self.k)
        return [
            documents[each].model_copy(update={"metadata": {**documents[each].metadata, self.score: score}})
            for each, score in zip(best.ids, best.scores, strict=True)
        ]

    def _id_of(self, document: Document) -> Any:
        found = document.id if self.id is None else document.metadata.get(self.id)
        if found is None:
            where = "an id" if self.id is None else f"{self.id!r} in the metadata"
            raise ValueError(f"id: expected documents with {where}, as the log of the correction has them")
        return found
