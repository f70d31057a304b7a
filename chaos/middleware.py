"""The middleware: puts what /chaos asks for into effect."""

import asyncio
import math
from collections.abc import Collection

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from chaos.caller import Caller
from chaos.case import Case
from chaos.control import Control
from chaos.cut import keep_cuts_out_of_the_log, leave_unended
from chaos.injector import Injector
from chaos.problems import problem
from chaos.reply import Reply
from chaos.verdict import Failure

EXEMPT_PATHS = frozenset({"/alive", "/health", "/stats"})
EXEMPT_HEADER = b"x-chaos-exempt"  # on requests of whoever measures, not of those that are measured


class ChaosMiddleware:
    """ASGI middleware that makes an application sick on request.

    Args:
        app: The application.
        enabled: False (as it is unless one says otherwise) passes everything through; `/chaos`
            is then as unknown to the application as any other path.
        token: If given, `/chaos` asks for it as a bearer token; otherwise it answers loopback
            addresses only.
        path: Where the faults are controlled.
        exempt_paths: Requests to these paths are never touched, nor counted; nor are requests
            with a header `X-Chaos-Exempt`, as of somebody who reads counters meanwhile.

    A request is judged when it arrives, in the order of arrival: with a seed, the n-th request
    that the fault concerns meets the same fate in each run, however many are in flight.

    Once the fault is off (taken off, replaced, its lease over, or in the idle turn of its
    flapping) nothing more of it happens: a request that hangs or is delayed goes on at once to
    the application, a dripped reply ends at once.

    The header `X-Chaos` of a reply names what hit it, in the order of effect, separated by commas:
    `hang` or `delay`, then `failFirst` or `failure`, then `body=drip` and the like. A reply
    without it was not touched. To cut a reply half-way the middleware returns without ending it,
    upon which a server closes the connection; to the application its `send` fails with `OSError`.

    WebSockets are left alone.
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
        if enabled:
            keep_cuts_out_of_the_log()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer `/chaos`, or let the application answer under the fault that is on."""
        if not self._enabled or scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == self._path:
            response = await self._control.answer(Request(scope, receive))
            await response(scope, receive, send)
        elif self._is_exempt(scope) or (case := self._judge(scope)) is None:
            await self._app(scope, receive, send)
        else:
            await self._touch(case, scope, receive, send)

    def _is_exempt(self, scope: Scope) -> bool:
        if scope["path"] in self._exempt:
            return True
        return any(name == EXEMPT_HEADER for name, _ in scope["headers"])

    def _judge(self, scope: Scope) -> Case | None:
        return self._injector.judge(scope["method"], scope["path"])

    async def _touch(self, case: Case, scope: Scope, receive: Receive, send: Send) -> None:
        caller = Caller(receive)
        await _hold_up(case, caller)
        if caller.is_gone:
            return
        app = self._app
        if case.verdict.failure is not None and case.is_on:
            case.hit(case.verdict.failure.cause)
            app = _failed(case.verdict.failure)
        reply = Reply(case, caller, scope["method"], send)
        try:
            await app(scope, caller.receive, reply.send)
        except Exception:  # whatever the application made of the cut
            if not reply.is_cut:
                raise
        if reply.is_cut:
            leave_unended()


async def _hold_up(case: Case, caller: Caller) -> None:
    seconds = math.inf if case.verdict.hang else case.verdict.delay_s
    if seconds > 0:
        case.hit("hang" if case.verdict.hang else "delay")
        async with caller.watched() as gone:
            await case.wait(seconds, gone)


def _failed(failure: Failure) -> Response:
    wait_s = failure.retry_after_s
    headers = None if wait_s is None else {"Retry-After": str(wait_s)}
    return problem(failure.status, "this failure was asked for at /chaos", headers=headers)


def _loop_time_s() -> float:
    return asyncio.get_running_loop().time()
