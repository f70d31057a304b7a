"""The middleware: puts what /chaos asks for into effect."""

import asyncio
from collections.abc import Collection

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chaos.control import Control
from chaos.delay import delay
from chaos.injector import Injector
from chaos.problems import problem
from chaos.verdict import Failure, Verdict

MARK = "X-Chaos"
EXEMPT_PATHS = frozenset({"/alive", "/health", "/stats"})


class ChaosMiddleware:
    """ASGI middleware that makes an application sick on request.

    Args:
        app: The application.
        enabled: False (as it is unless one says otherwise) passes everything through; `/chaos`
            is then as unknown to the application as any other path.
        token: If given, `/chaos` asks for it as a bearer token; otherwise it answers loopback
            addresses only.
        path: Where the faults are controlled.
        exempt_paths: Requests to these paths are never touched.

    A request is judged when it arrives, in the order of arrival: with a seed, the n-th request
    meets the same fate in each run, however many are in flight. Taking the fault off, or its
    lease running out, concerns later arrivals; a request that waits in its delay goes on to
    finish with the fault it was given. WebSockets are left alone.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        enabled: bool = False,
        token: str | None = None,
        path: str = "/chaos",
        exempt_paths: Collection[str] = EXEMPT_PATHS,
    ) -> None:
        self._app = app
        self._enabled = enabled
        self._path = path
        self._exempt = frozenset(exempt_paths)
        self._injector = Injector(now_s=_loop_time_s)
        self._control = Control(self._injector, token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer `/chaos`, or let the application answer under the fault that is on."""
        if not self._enabled or scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == self._path:
            response = await self._control.answer(Request(scope, receive))
            await response(scope, receive, send)
        elif scope["path"] in self._exempt or (verdict := self._injector.verdict()) is None:
            await self._app(scope, receive, send)
        elif verdict.touched:
            await self._touch(verdict, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _touch(self, verdict: Verdict, scope: Scope, receive: Receive, send: Send) -> None:
        if verdict.delay_s:
            watched = await delay(verdict.delay_s, receive)
            if watched is None:
                return
            receive = watched
        mark = ", ".join(verdict.touched)
        if verdict.failure:
            await _reply(verdict.failure, mark)(scope, receive, send)
        else:
            await self._app(scope, receive, _marking(send, mark))


def _reply(failure: Failure, mark: str) -> Response:
    headers = {MARK: mark}
    if failure.retry_after_s is not None:
        headers["Retry-After"] = str(failure.retry_after_s)
    return problem(failure.status, "this failure was asked for at /chaos", headers=headers)


def _marking(send: Send, mark: str) -> Send:
    async def marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)[MARK] = mark
        await send(message)

    return marked


def _loop_time_s() -> float:
    return asyncio.get_running_loop().time()
