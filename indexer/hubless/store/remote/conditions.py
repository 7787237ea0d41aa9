"""What each store calls things: tags of objects, preconditions of writes, and errors. The only place that knows."""

from typing import Any

_NOT_MET = ("PreconditionFailed", "ConditionalRequestConflict")


def tag_of(scheme: str, found: dict[str, Any]) -> str:
    """Return what changes with each write of an object, and can be the condition of the next one."""
    if scheme == "gs":
        return str(found["generation"])
    return str(found.get("ETag") or found.get("etag") or found.get("mtime", ""))


def write_if(files: Any, path: str, content: bytes, scheme: str, tag: str | None) -> None:
    """Write an object by one request that the store refuses unless the object has a tag, or is not there (None).

    Parameters
    ----------
    files : the file system of fsspec

    Raises
    ------
    Exception
        for which `is_not_met` is true if the store refused.
    """
    if scheme == "s3":
        files.pipe_file(path, content, **({"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}))
    elif scheme == "az":
        _write_to_azure(files, path, content, tag)
    else:
        _write_to_google(files, path, content, tag)


def is_not_met(error: BaseException) -> bool:
    """Return whether a store refused a write because its condition is not met."""
    error = _cause(error)
    return isinstance(error, FileExistsError) or _code(error) in _NOT_MET or _status(error) == 412


def is_not_there(error: BaseException) -> bool:
    """Return whether an object, or its bucket, is not there."""
    return isinstance(error, FileNotFoundError) or _status(_cause(error)) == 404


def is_forbidden(error: BaseException) -> bool:
    """Return whether a store takes no credentials of ours, or there are none. Trying again would not help."""
    name, text = type(error).__name__, str(error)
    return (
        isinstance(error, PermissionError)
        or _status(_cause(error)) in (401, 403)
        or "Credential" in name
        or "DefaultCredentials" in text
        or (isinstance(error, OSError) and text.startswith("Forbidden"))  # of gcsfs
    )


def _write_to_azure(files: Any, path: str, content: bytes, tag: str | None) -> None:
    from azure.core import MatchConditions

    if tag is None:
        files.pipe_file(path, content, overwrite=False)
    else:
        files.pipe_file(path, content, etag=tag, match_condition=MatchConditions.IfNotModified)


def _write_to_google(files: Any, path: str, content: bytes, tag: str | None) -> None:
    # gcsfs can ask that there is no object, but not that there is a certain generation of it
    bucket, _, key = path.partition("/")
    files.call(
        "POST",
        files.base.replace("/storage/v1/", "/upload/storage/v1/") + "b/{}/o",
        bucket,
        uploadType="media",
        name=key,
        ifGenerationMatch=tag or "0",
        headers={"Content-Type": "application/octet-stream"},
        data=content,
    )


def _cause(error: BaseException) -> BaseException:
    """What s3fs translated."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _code(error: BaseException) -> str | None:
    response = getattr(error, "response", None)
    return response.get("Error", {}).get("Code") if isinstance(response, dict) else None


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    return int(status) if isinstance(status, int | str) and str(status).isdigit() else None
