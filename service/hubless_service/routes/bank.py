"""The sample of the query bank that a version stores."""

from fastapi import APIRouter, Request, Response

from hubless.errors import InputError
from hubless_service import openapi
from hubless_service.access.authentication import access_of
from hubless_service.http import responses
from hubless_service.http.insights import BankQueryAnswer
from hubless_service.http.problems import clip
from hubless_service.routes import examples_of_insights as examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.state import state_of

router = APIRouter(route_class=DirectRoute, tags=["collections"])
_LONGEST = 9
"""Digits of a number that is worth reading."""


@router.get(
    "/v1/collections/{collection}/bank/{number}",
    summary="One of the bank queries that are stored",
    responses=openapi.answers(
        BankQueryAnswer, examples.BANK_QUERY_ANSWER, "collection_not_found", "invalid_input", *openapi.UNSERVED
    ),
)
async def get_bank_query(request: Request, collection: str, number: str) -> Response:
    """A version stores at most 512 queries of its bank, at random. They count from 0."""
    held = state_of(request).shelf.collection(collection, access_of(request))
    sample = held.bank_sample
    if sample is None:
        raise InputError("number", f"none, as version {held.version} stores no bank queries", clip(number))
    wanted = int(number) if number.isdecimal() and number.isascii() and len(number) <= _LONGEST else -1
    if not 0 <= wanted < len(sample):
        raise InputError("number", f"a whole number from 0 to {len(sample) - 1}", clip(number))
    answer: BankQueryAnswer = {
        "number": wanted,
        "stored": len(sample),
        "vector": sample[wanted],
        "collection": held.name,
        "version": held.version,
    }
    return responses.send(answer)
