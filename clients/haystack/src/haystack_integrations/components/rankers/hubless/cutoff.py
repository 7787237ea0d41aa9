"""Documents only for questions whose first one is right often enough, by the scores of any retriever."""

from collections.abc import Mapping
from typing import Any, Self

from haystack import Document, component, default_from_dict, default_to_dict


@component
class HublessCutoff:
    """The documents of any retriever, best first; none where the cut is not reached.

    Parameters
    ----------
    cut : a `hubless.Cut` that was fitted on scores of the same retriever, and calibrated; or what its `as_json` gave
    accuracy : the share of answers whose first document is right
    top_k : number of documents that stay; let the retriever find 11, as the cut reads so many
    """

    def __init__(self, cut: Any, accuracy: float = 0.9, top_k: int | None = None) -> None:
        if isinstance(cut, Mapping):
            from hubless import Cut  # a pipeline that was stored needs the library

            cut = Cut.from_json(cut)
        self.cut, self.accuracy, self.top_k = cut, accuracy, top_k

    def to_dict(self) -> dict[str, Any]:
        """Return the settings that a pipeline stores."""
        return default_to_dict(self, cut=self.cut.as_json(), accuracy=self.accuracy, top_k=self.top_k)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The component that a pipeline stored."""
        return default_from_dict(cls, data)

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Leave the documents, or none."""
        scores = [document.score for document in documents if document.score is not None]
        if len(scores) < len(documents):
            raise ValueError("documents: expected each with a score, got one without")
        return {"documents": documents[: self.top_k] if self.cut.accept(scores, self.accuracy) else []}
