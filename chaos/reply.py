"""The reply of a touched request on its way out: marked, and its body spoilt if asked for."""

import random
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

from chaos.caller import Caller
from chaos.case import Case
from chaos.cut import ConnectionCutError
from chaos.document import BodyFault

MARK = "X-Chaos"
DRIP_EVERY_S = 0.1
DRIP_MAX_S = 30.0
_SendBody = Callable[[bytes, bool], Awaitable[None]]  # data, whether more follows
_BODILESS = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}
# Continuation bytes of UTF-8 without a beginning: no text in it, no JSON, no known file type.
_CONTINUATION = bytes(0x80 | byte & 0x3F for byte in range(256))


class Reply:
    """Passes the messages of one reply on; a fault that is off by its head leaves it alone.

    A reply that has begun is finished as it was begun, but for a drip: once the fault is off or
    the caller gone, the rest comes at once.
    """

    def __init__(self, case: Case, caller: Caller, method: str, send: Send) -> None:
        self._case = case
        self._caller = caller
        self._method = method
        self._send = send
        self._send_body: _SendBody | None = None
        self.is_cut = False  # the server must close the connection rather than end the reply

    async def send(self, message: Message) -> None:
        """Pass *message* on: the application's `send`.

        Raises:
            ConnectionCutError: nothing more goes out, so the application may stop.
        """
        if message["type"] == "http.response.start":
            self._begin(message)
            await self._send(message)
        elif message["type"] == "http.response.body" and self._send_body is not None:
            await self._send_body(message.get("body", b""), message.get("more_body", False))
        else:
            await self._send(message)

    def _begin(self, head: Message) -> None:
        headers = MutableHeaders(scope=head)
        body = self._case.verdict.body
        if body is not None and self._case.is_on and self._has_body(head["status"], headers):
            self._case.hit(f"body={body}")
            self._send_body = self._spoilt(body, headers)
        if self._case.hits:
            headers[MARK] = ", ".join(self._case.hits)

    def _spoilt(self, body: BodyFault, headers: MutableHeaders) -> _SendBody:
        if body == "drip":
            return self._dripped(self._case.now_s() + DRIP_MAX_S)
        if body == "truncate":
            length = headers.get("content-length")
            return self._truncated(int(length) // 2 if length else None)
        if body == "garbage":
            return self._garbage(random.Random(self._case.verdict.garbage_seed))
        headers["content-length"] = "0"
        del headers["transfer-encoding"]
        return self._empty()

    def _has_body(self, status: int, headers: MutableHeaders) -> bool:
        is_empty = headers.get("content-length") == "0"
        return self._method != "HEAD" and status not in _BODILESS and not is_empty

    def _dripped(self, until_s: float) -> _SendBody:
        async def send_body(data: bytes, more: bool) -> None:
            async with self._caller.watched() as gone:

                def goes_on() -> bool:
                    return self._case.is_on and not gone.done() and self._case.now_s() < until_s

                sent = 0
                while sent < len(data) - 1 and goes_on():
                    await self._pass(data[sent : sent + 1], more=True)
                    sent += 1
                    await self._case.wait(DRIP_EVERY_S, gone)
                await self._pass(data[sent:], more=more)
                if data and more and goes_on():
                    await self._case.wait(DRIP_EVERY_S, gone)

        return send_body

    def _truncated(self, left: int | None) -> _SendBody:
        async def send_body(data: bytes, more: bool) -> None:
            nonlocal left
            if left is None and (data or not more):
                left = len(data) // 2
            kept = data[:left]
            if left is not None:
                left -= len(kept)
            await self._pass(kept, more=True)
            if left == 0 or not more:
                self.is_cut = True
                raise ConnectionCutError("cut half-way, as asked for at /chaos")

        return send_body

    def _garbage(self, dice: random.Random) -> _SendBody:
        async def send_body(data: bytes, more: bool) -> None:
            await self._pass(dice.randbytes(len(data)).translate(_CONTINUATION), more=more)

        return send_body

    def _empty(self) -> _SendBody:
        async def send_body(_: bytes, more: bool) -> None:
            await self._pass(b"", more=more)

        return send_body

    async def _pass(self, data: bytes, *, more: bool) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": more})
