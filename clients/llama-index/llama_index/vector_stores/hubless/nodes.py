"""A node is a point. Its metadata are keys of the payload, its text is one, and some say what else belongs to it."""

from collections.abc import Mapping
from typing import Any

from llama_index.core.schema import BaseNode, MetadataMode, TextNode
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from hubless_client import CannotSend

NODE_ID = "_node_id"
REF_DOC_ID = "ref_doc_id"
_WHOLE = "_node_content"


def payload_of(node: BaseNode, text_key: str) -> dict[str, Any]:
    """The payload of a node. An empty list is left out, as filters take it for absent.

    Raises
    ------
    CannotSend : the metadata has the key of the text
    """
    if text_key in node.metadata:
        raise CannotSend(f"metadata: expected no key {text_key!r}, which holds the text; choose another text_key")
    payload = {key: value for key, value in node_to_metadata_dict(node, remove_text=True).items() if value != []}
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    return {**payload, **({text_key: text} if text else {}), NODE_ID: node.node_id}


def node_of(id: str | int, payload: Mapping[str, Any] | None, text_key: str) -> BaseNode:
    """The node of a point. Another program's point becomes a text node, its payload the metadata."""
    values = dict(payload or {})
    given = values.pop(text_key, None)
    text = given if isinstance(given, str) else None
    if _WHOLE in values:
        return metadata_dict_to_node(values, text)
    return TextNode(id_=str(id), text=text or "", metadata=values)
