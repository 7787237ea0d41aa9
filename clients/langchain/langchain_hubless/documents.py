"""A document is a point: its text and its metadata are columns of the payload."""

from collections.abc import Mapping
from typing import Any

from langchain_core.documents import Document

from hubless_client import CannotSend


def payload_of(text: str, metadata: Mapping[str, Any], content_key: str) -> dict[str, Any]:
    """The payload of a document.

    Raises
    ------
    CannotSend : the metadata has the column of the text
    """
    if content_key in metadata:
        raise CannotSend(f"metadata: expected no key {content_key!r}, which holds the text; choose another content_key")
    return {content_key: text, **metadata}


def document_of(id: str | int, payload: Mapping[str, Any] | None, content_key: str) -> Document:
    """The document of a point. A point without a text, which another program stored, has an empty one."""
    metadata = dict(payload or {})
    text = metadata.pop(content_key, None)
    return Document(id=str(id), page_content=text if isinstance(text, str) else "", metadata=metadata)
