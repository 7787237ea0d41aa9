"""What the request may do: for programs that must know before they offer it."""

from fastapi import APIRouter, Request, Response

from hubless_service import openapi
from hubless_service.access.authentication import ACCESS, access_of
from hubless_service.app_state import state_of
from hubless_service.http import responses
from hubless_service.http.insights import AccessAnswer
from hubless_service.routes import examples_of_insights as examples
from hubless_service.routes.direct import DirectRoute

router = APIRouter(route_class=DirectRoute, tags=["access"])


@router.get(
    "/v1/access",
    summary="What your key may do",
    responses=openapi.answers(AccessAnswer, examples.ACCESS_ANSWER),
)
async def get_access(request: Request) -> Response:
    """Works with any key that the server knows."""
    access = access_of(request)
    limit = access.collections
    answer: AccessAnswer = {
        "keys": ACCESS in request.scope,
        "role": access.role,
        "collections": None if limit is None else sorted(limit),
        "bank_queries": access.has(state_of(request).settings.bank_readers),
    }
    return responses.send(answer)
