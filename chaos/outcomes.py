"""What became of each request, counted for `/stats`."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from http import HTTPStatus

from pydantic.alias_generators import to_camel
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chaos.reply import MARK


@dataclass(slots=True)
class Outcomes:
    """Requests received, and what became of them; the classes add up to `received` once idle."""

    received: int = 0
    answered: int = 0  # status below 400, at once
    delayed: int = 0  # status below 400, whole, but held up by a fault
    spoilt: int = 0  # status below 400, but not with the body that it should have had
    not_found: int = 0  # 404
    refused: int = 0  # any other 4xx
    failed: int = 0  # 5xx, or whatever status a fault gave in place of the reply
    abandoned: int = 0  # the caller hung up, or the service was stopped, before the reply began

    def as_wire(self) -> dict[str, int]:
        """Return the counts under their names on the wire (camel case)."""
        return {to_camel(each.name): getattr(self, each.name) for each in fields(self)}


class OutcomesMiddleware:
    """ASGI middleware that counts into *outcomes* the requests below *prefix*.

    Add it after `ChaosMiddleware`, so that it stands outside and sees what really went out.
    """

    def __init__(self, app: ASGIApp, *, outcomes: Outcomes, prefix: str) -> None:
        self._app = app
        self._outcomes = outcomes
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and count what became of it."""
        if scope["type"] != "http" or not scope["path"].startswith(self._prefix):
            await self._app(scope, receive, send)
            return
        outcomes = self._outcomes
        outcomes.received += 1
        outcome = "abandoned"

        async def watched(message: Message) -> None:
            nonlocal outcome
            if message["type"] == "http.response.start":
                outcome = classify(message["status"], message["headers"])
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            setattr(outcomes, outcome, getattr(outcomes, outcome) + 1)


def classify(status: int, headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the field of `Outcomes` that a reply counts into."""
    causes = set(dict(headers).get(_MARK, b"").split(b", "))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or causes & _FAILING:
        return "failed"
    if status == HTTPStatus.NOT_FOUND:
        return "not_found"
    if status >= HTTPStatus.BAD_REQUEST:
        return "refused"
    if causes & _SPOILING:
        return "spoilt"
    return "delayed" if causes & _DELAYING else "answered"


_MARK = MARK.lower().encode()
_FAILING = {b"failure", b"failFirst"}
_SPOILING = {b"body=truncate", b"body=garbage", b"body=empty"}
_DELAYING = {b"hang", b"delay", b"body=drip"}
