"""The JSON of answers that let a client look into a collection: who asks, what is found, where targets lie."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from hubless_service.http.answers import Served, VectorJson


class AccessAnswer(TypedDict):
    """What the request may do."""

    keys: Annotated[bool, Field(description="Whether the server has API keys.")]
    role: Annotated[
        Literal["read", "write", "admin"], Field(description="Of the key; admin where the server has no keys.")
    ]
    collections: Annotated[
        list[str] | None, Field(description="To which collections the key is limited; null for no limit.")
    ]


class BankQueryAnswer(Served):
    """A query of the bank."""

    number: Annotated[int, Field(description="Its number among those that are stored, from 0.")]
    stored: Annotated[int, Field(description="How many of the bank's queries the version stores.")]
    vector: VectorJson


INSIGHTS = (AccessAnswer, BankQueryAnswer)
