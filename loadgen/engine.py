"""Sends a closed load over aiohttp and keeps a sample of each request."""

import asyncio
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import aiohttp

from loadgen.classify import Outcome, classify_reply
from loadgen.load import ERROR_CLASS, Load
from loadgen.samples import Sample, Samples


async def run_load(
    load: Load,
    *,
    into: Samples | None = None,
    on_finished: Callable[[int], None] | None = None,
) -> Samples:
    """Send the load and return a sample of each request: exactly as many as asked for.

    Args:
        load: what to send.
        into: empty samples to fill, for a caller that wants to keep those of a cancelled load.
        on_finished: called after each request with the number finished so far.

    A request that fails is a sample of class `error`; nothing is sent again. Cancelling closes
    all connections and raises.
    """
    run = _Run(load, Samples() if into is None else into, on_finished)
    async with _open_session(load) as session, asyncio.TaskGroup() as group:
        for _ in range(min(load.tasks, load.requests)):
            group.create_task(run.send_in_turn(session))
    return run.samples


def _open_session(load: Load) -> aiohttp.ClientSession:
    note_sent = aiohttp.TraceConfig()
    note_sent.on_request_headers_sent.append(_note_sent)
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=load.tasks),
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=load.headers,
        trace_configs=[note_sent],
    )
    # aiohttp would send a request once more, unseen, when a kept-alive connection drops.
    session._retry_connection = False  # noqa: SLF001 - there is no public switch
    return session


async def _note_sent(
    _session: aiohttp.ClientSession,
    context: SimpleNamespace,
    _params: aiohttp.TraceRequestHeadersSentParams,
) -> None:
    context.trace_request_ctx.append(time.perf_counter_ns())


class _Run:
    """The state that the tasks of one load share."""

    def __init__(
        self, load: Load, samples: Samples, on_finished: Callable[[int], None] | None
    ) -> None:
        self.samples = samples
        self._load = load
        self._body = None if load.body is None else load.body.encode()
        self._tickets: Iterator[int] = iter(range(load.requests))
        self._on_finished = on_finished
        self._began_ns = time.perf_counter_ns()

    async def send_in_turn(self, session: aiohttp.ClientSession) -> None:
        """Take a ticket, send its request, keep the sample; until no ticket is left."""
        for _ in self._tickets:
            scheduled_ns = time.perf_counter_ns()
            sent_ns: list[int] = []
            status, outcome = await self._send(session, sent_ns)
            self.samples.add(
                Sample(
                    scheduled_s=self._since_start_s(scheduled_ns),
                    sent_s=self._since_start_s(sent_ns[0]) if sent_ns else None,
                    finished_s=self._since_start_s(time.perf_counter_ns()),
                    outcome=outcome.name,
                    status=status,
                    error=outcome.error,
                )
            )
            if self._on_finished is not None:
                self._on_finished(len(self.samples))

    async def _send(
        self, session: aiohttp.ClientSession, sent_ns: list[int]
    ) -> tuple[int | None, Outcome]:
        load = self._load
        status: int | None = None
        try:
            async with (
                asyncio.timeout(load.timeout_s),
                session.request(
                    load.method,
                    load.url,
                    data=self._body,
                    allow_redirects=False,
                    trace_request_ctx=sent_ns,
                ) as reply,
            ):
                status = reply.status
                body = await reply.read()
        except TimeoutError:
            return status, Outcome(ERROR_CLASS, f"no complete reply in {load.timeout_s:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as failure:
            return status, Outcome(ERROR_CLASS, _describe(failure))
        return status, classify_reply(status, body, load.outcome)

    def _since_start_s(self, moment_ns: int) -> float:
        return (moment_ns - self._began_ns) / 1e9


def _describe(failure: Exception) -> str:
    if isinstance(failure, aiohttp.ClientConnectorError):
        return f"cannot connect: {failure.os_error.strerror or failure.os_error}"
    if isinstance(failure, aiohttp.ServerDisconnectedError):
        return "closed without a reply"
    return f"{type(failure).__name__}: {failure}"[:200]
