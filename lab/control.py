"""Short questions to a service that may be sick: answered whole and in time, or not at all."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

import httpx

LARGEST_ANSWER_BYTES = 1_000_000


class NoAnswerError(Exception):
    """The service did not answer in time, or not in HTTP; the message says how."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete reply."""

    status: int
    body: bytes

    @property
    def is_ok(self) -> bool:
        """Whether the status is 2xx."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    def members(self) -> Mapping[str, object]:
        """Return the JSON object in the body, an empty one where there is no such thing."""
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}

    def field(self, name: str) -> object:
        """Return a field of the JSON object in the body, None where there is no such thing."""
        return self.members().get(name)


async def ask(
    http: httpx.AsyncClient,
    method: str,
    url: str,
    *,
    within_s: float,
    document: dict[str, object] | None = None,
) -> Answer:
    """Return the reply with its body, whatever its status.

    Args:
        http: whose own time-outs do not matter here: they start again with every byte.
        method: upper case.
        url: absolute.
        within_s: limit on the whole exchange, in seconds.
        document: sent as JSON.

    Raises:
        NoAnswerError: no complete reply came in time, or one beyond LARGEST_ANSWER_BYTES.
    """
    try:
        async with (
            asyncio.timeout(within_s),
            http.stream(method, url, json=document, timeout=None) as reply,
        ):
            return Answer(reply.status_code, await _read_bounded(reply))
    except TimeoutError:
        raise NoAnswerError(f"no complete answer in {within_s:g} s") from None
    except httpx.HTTPError as failure:
        raise NoAnswerError(f"{type(failure).__name__}: {failure}") from failure


async def _read_bounded(reply: httpx.Response) -> bytes:
    body = b""
    async for chunk in reply.aiter_bytes():
        body += chunk
        if len(body) > LARGEST_ANSWER_BYTES:
            raise NoAnswerError(f"the answer is longer than {LARGEST_ANSWER_BYTES} bytes")
    return body
