"""The cutoff behind LlamaIndex' own in-memory store."""

import pytest
from llama_index.core import MockEmbedding
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.vector_stores import SimpleVectorStore, VectorStoreQuery

from llama_index.vector_stores.hubless import HublessCutoff


class Lead:
    def accept(self, scores, accuracy):
        return scores[0] - scores[1] > accuracy / 10


def found(query):
    """What the store finds, as a retriever hands it on."""
    store = SimpleVectorStore()
    vectors = {"east": [1.0, 0.0], "north": [0.0, 1.0], "near": [0.1, 1.0]}
    store.add([TextNode(id_=name, text=name, embedding=vector) for name, vector in vectors.items()])
    result = store.query(VectorStoreQuery(query_embedding=query, similarity_top_k=3))
    return [
        NodeWithScore(node=TextNode(id_=name, text=name), score=score)
        for name, score in zip(result.ids, result.similarities, strict=True)
    ]


def test_nodes_stay_where_the_cut_is_reached():
    assert MockEmbedding(embed_dim=2)  # the framework is whole
    cutoff = HublessCutoff(cut=Lead(), accuracy=0.9, top_n=1)
    assert [each.node.node_id for each in cutoff.postprocess_nodes(found([1.0, 0.0]))] == ["east"]
    assert cutoff.postprocess_nodes(found([0.0, 1.0])) == []
    assert len(HublessCutoff(cut=Lead()).postprocess_nodes(found([1.0, 0.0]))) == 3


def test_nodes_without_scores_are_refused():
    with pytest.raises(ValueError, match="nodes: expected each with a score"):
        HublessCutoff(cut=Lead()).postprocess_nodes([NodeWithScore(node=TextNode(text="a"))])
