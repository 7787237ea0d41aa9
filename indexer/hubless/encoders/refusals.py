"""Turns the error answer of an endpoint into one of ours: about the text, or about the encoder."""

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
_LONGEST = 200  # quoted characters
MOST_READ = 16_384
"""Bytes to read of an error answer."""


def refusal(status: int, content: bytes, texts: int, secrets: Sequence[str]) -> HublessError:
    """Return our error for an error answer.

    Parameters
    ----------
    status : HTTP status of the answer
    content : its body, or the beginning of it
    texts : number of texts in the request
    secrets : texts to leave out of the message

    Returns
    -------
    `TextRefused` if the endpoint refuses the texts. `EncoderFailed` for other errors, and if the endpoint names a field
    of the description, such as the model.
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
    """Return the message of an error in the form of OpenAI or similar servers, and the field that it names."""
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
