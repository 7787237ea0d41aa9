"""A retriever that answers only what is right often enough, by the scores of any other retriever or vector store."""

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_hubless.scored import ScoredRetriever

DEPTH = 11
"""So many scores a cut reads."""


class HublessCutoff(ScoredRetriever):
    """The documents of a vector store or of a retriever for a query; none where the cut is not reached.

    Attributes
    ----------
    retriever : a vector store of any kind, or a retriever whose documents have their scores in the metadata
    cut : a `hubless.Cut` that was fitted on scores of the same retriever, and calibrated
    accuracy : the share of answers whose first document is right
    k : number of documents
    score : under which name documents of a retriever have their scores
    """

    cut: Any
    accuracy: float = 0.9

    @property
    def wanted(self) -> int:
        return max(self.k, DEPTH)

    def answer(self, found: Sequence[tuple[Document, float]]) -> list[Document]:
        if not self.cut.accept([float(score) for _, score in found], self.accuracy):
            return []
        return [document for document, _ in found[: self.k]]
