"""What it means that an endpoint answers with an error: whose fault it is, and what it says of it."""

import json
from collections.abc import Sequence
from typing import Any

from hubless.errors import EncoderFailed, HublessError, TextRefused

_OF_THE_TEXT = (400, 413, 422)
_OF_THE_DESCRIPTION = {
    401: "its key is missing or wrong, look at api_key_env and its variable",
    403: "its key does not allow this, look at api_key_env and its variable",
    404: "it has no such path or model, look at url and model",
}
_LONGEST = 200  # characters that are quoted
MOST_READ = 16_384
"""Bytes of such an answer that are read."""


def refusal(status: int, content: bytes, texts: int, secrets: Sequence[str]) -> HublessError:
    """The error for an answer that is none.

    Parameters
    ----------
    status : of the answer
    content : its body, or the beginning of it
    texts : how many it was asked for
    secrets : what is quoted to nobody

    Returns
    -------
    `TextRefused` where the endpoint has something against what it was asked, and does not name a field of the
    description, such as the model; else `EncoderFailed`.
    """
    message, field = _said(content, secrets)
    answered = f"it answered with status {status}"
    if status not in _OF_THE_TEXT:
        return EncoderFailed(answered + (f": {hint}" if (hint := _OF_THE_DESCRIPTION.get(status)) else ""))
    quoted = f', "{message}"' if message else ""
    if field and not field.startswith("input"):
        return EncoderFailed(f"{answered} about {field}{quoted}")
    parameter, expected = ("text", "one") if texts == 1 else ("texts", "such")
    return TextRefused(parameter, f"{expected} that the collection's encoder takes", f"status {status} of it{quoted}")


def _said(content: bytes, secrets: Sequence[str]) -> tuple[str, str]:
    """The message of an error in OpenAI's form or those of its likes, and the name of the field that it is about."""
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError):
        return "", ""
    error = document.get("error", document) if isinstance(document, dict) else None
    field = error.get("param") if isinstance(error, dict) else None
    message = error.get("message", error.get("detail")) if isinstance(error, dict) else error
    return _brief(message, secrets), _brief(field, secrets)


def _brief(said: object, secrets: Sequence[str]) -> str:
    if not isinstance(said, str):
        return ""
    for secret in filter(None, secrets):
        said = said.replace(secret, "…")
    line = "".join(letter for letter in " ".join(said.split()) if letter.isprintable())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
