"""A postprocessor that leaves nodes only to queries whose first one is right often enough, by scores alone."""

from typing import Any

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle


class HublessCutoff(BaseNodePostprocessor):
    """The nodes of any retriever, best first; none where the cut is not reached.

    Attributes
    ----------
    cut : a `hubless.Cut` that was fitted on scores of the same retriever, and calibrated
    accuracy : the share of answers whose first node is right
    top_n : number of nodes that stay; let the retriever find 11, as the cut reads so many
    """

    cut: Any
    accuracy: float = 0.9
    top_n: int | None = None

    @classmethod
    def class_name(cls) -> str:
        """The name that LlamaIndex stores."""
        return "HublessCutoff"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        scores = [node.score for node in nodes if node.score is not None]
        if len(scores) < len(nodes):
            raise ValueError("nodes: expected each with a score, got one without")
        return nodes[: self.top_n] if self.cut.accept(scores, self.accuracy) else []
