"""The body of a request for a fault: bounded, and JSON that can be read in one way only.

`/chaos` reads its requests with it, and so does every control over HTTP
(`service_defaults.control_server`).
"""

import json
from collections.abc import Mapping
from typing import Never

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

LARGEST_BODY_BYTES = 64 * 1024


class InvalidDocumentError(ValueError):
    """The request for a fault is wrong; `fields` says what is wrong with which field."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {why}" for name, why in fields.items()))
        self.fields = dict(fields)


async def read_body(request: Request) -> bytes:
    """Return the whole body of *request*.

    Raises:
        HTTPException: 413, it is longer than LARGEST_BODY_BYTES; 400, the caller hung up.
    """
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_BODY_BYTES:
                raise HTTPException(413, f"a fault takes at most {LARGEST_BODY_BYTES} bytes")
    except ClientDisconnect as error:
        raise HTTPException(400, "the caller hung up before the end of the body") from error
    return body


def read_object(body: bytes) -> dict[str, object]:
    """Return the members of the JSON object *body*.

    Raises:
        InvalidDocumentError: it is malformed, not an object, has a field twice, or a number that
            JSON does not have (NaN, Infinity).
    """
    try:
        members = loads(body)
    except InvalidDocumentError:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidDocumentError({"body": f"not JSON: {error}"}) from error
    if not isinstance(members, dict):
        raise InvalidDocumentError({"body": "must be a JSON object"})
    return members


def loads(text: str | bytes) -> object:
    """Return the JSON value *text*; ValueError or RecursionError where it is none."""
    return json.loads(text, object_pairs_hook=without_duplicates, parse_constant=_refuse)


def without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return *pairs* as a mapping; InvalidDocumentError if a name is given more than once."""
    members: dict[str, object] = {}
    for name, value in pairs:
        if name in members:
            raise InvalidDocumentError({name: "given more than once"})
        members[name] = value
    return members


def _refuse(constant: str) -> Never:
    raise ValueError(f"{constant} is not a number in JSON")
