"""A document is a point: its fields are keys of the payload, its embedding is the vector."""

from collections.abc import Mapping, Sequence
from typing import Any

from haystack import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy

from hubless_client import Hit, Point

MODES = {
    DuplicatePolicy.NONE: "insert",
    DuplicatePolicy.FAIL: "insert",
    DuplicatePolicy.SKIP: "ignore",
    DuplicatePolicy.OVERWRITE: "upsert",
}
"""How the server treats ids that are there."""


def payload_of(document: Document) -> dict[str, Any]:
    """The payload of a document: its fields that are there, but the vector and the score."""
    fields = document.to_dict(flatten=False)
    return {name: value for name, value in fields.items() if value is not None and name not in {"embedding", "score"}}


def document_of(stored: Point | Hit, with_embedding: bool) -> Document:
    """The document of a point. Keys that no document has, which another program stored, become metadata."""
    return Document.from_dict(
        {
            **(stored.payload or {}),
            "id": str(stored.id),
            "embedding": list(stored.vector) if with_embedding and stored.vector is not None else None,
            "score": stored.score if isinstance(stored, Hit) else None,
        }
    )


def checked(documents: Any) -> list[Document]:
    """The documents as they were given.

    Raises
    ------
    ValueError : they are no list of documents
    """
    if not isinstance(documents, list):
        raise ValueError(f"documents: expected a list of Documents, got {type(documents).__name__}")  # noqa: TRY004
    for place, document in enumerate(documents):
        if not isinstance(document, Document):
            raise ValueError(f"documents[{place}]: expected a Document, got {type(document).__name__}")  # noqa: TRY004
    return documents


def distinct(documents: Sequence[Document], policy: DuplicatePolicy) -> list[Document]:
    """One document an id: the first where documents are skipped, the last where they are overwritten.

    Raises
    ------
    DuplicateDocumentError : an id stands twice, and the policy is to fail
    """
    by_id: dict[str, Document] = {}
    for document in documents:
        if document.id in by_id and MODES[policy] == "insert":
            raise DuplicateDocumentError(f"documents: two of them have the id {document.id!r}; nothing was stored")
        if document.id not in by_id or policy is DuplicatePolicy.OVERWRITE:
            by_id[document.id] = document
    return list(by_id.values())


def changed_meta(points: Sequence[Point], meta: Mapping[str, Any]) -> dict[str | int, dict[str, Any]]:
    """Return the patches that add or change metadata of documents."""
    return {point.id: {"meta": {**(point.payload or {}).get("meta", {}), **meta}} for point in points}
