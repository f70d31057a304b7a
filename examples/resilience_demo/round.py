"""The scenario played once, by a client of its own."""

import asyncio
from collections.abc import Callable, Iterable
from enum import StrEnum
from random import Random
from types import TracebackType
from typing import Self

import httpx

from examples.resilience_demo.paint import Colour, painted
from examples.resilience_demo.scenario import PlannedRequest, sources
from examples.resilience_demo.summary import broken_identities, summary
from examples.resilience_demo.timeline import Timeline
from resilience import BulkheadFull, CircuitOpen, RateLimited, ResilienceError, ResilientClient

_UNSENT = (CircuitOpen, RateLimited, BulkheadFull)


class Outcome(StrEnum):
    """What became of a request; rejected: ended by a limit or a circuit of the client's own."""

    OK = "ok"
    FAILED = "failed"
    REJECTED = "rejected"


class Round:
    """Makes planned requests, writes the timeline meanwhile and the summary at the end.

    Use it as an async context manager; time counts from its entry.

    Args:
        crypto_url, weather_url: Where the two servers are.
        random: Source of jitter.
        write: Takes a line without its end.
        colour: Whether to paint.
    """

    def __init__(
        self,
        *,
        crypto_url: str,
        weather_url: str,
        random: Random,
        write: Callable[[str], object],
        colour: bool,
    ) -> None:
        both = sources(crypto_url=crypto_url, weather_url=weather_url)
        self._names = [each.name for each in both]
        self._client = ResilientClient(both, random=random)
        self._write = write
        self._colour = colour
        self._began_s = 0.0

    @property
    def attempts(self) -> int:
        """Return how many requests have been sent, to both servers together."""
        return sum(self._client.statistics(name).attempts for name in self._names)

    async def make(self, request: PlannedRequest) -> Outcome:
        """Make a request when its time has come."""
        await asyncio.sleep(self._began_s + request.at_s - asyncio.get_running_loop().time())
        try:
            response = await self._client.get(request.source, request.path)
        except _UNSENT:
            return Outcome.REJECTED
        except (ResilienceError, httpx.TransportError):
            return Outcome.FAILED
        return Outcome.OK if response.is_success else Outcome.FAILED

    async def make_all(self, requests: Iterable[PlannedRequest]) -> None:
        """Make requests, each when its time has come; return when all have ended."""
        async with asyncio.TaskGroup() as calls:
            for request in requests:
                calls.create_task(self.make(request))

    def conclude(self) -> list[str]:
        """Write the summary; return what does not add up in it, a sentence each."""
        counted = [self._client.statistics(name) for name in self._names]
        self._write("")
        self._write(painted("SUMMARY", Colour.BOLD) if self._colour else "SUMMARY")
        for line in summary(counted, began_s=self._began_s):
            self._write(f"  {line}")
        return list(broken_identities(counted))

    async def __aenter__(self) -> Self:
        self._began_s = asyncio.get_running_loop().time()
        timeline = Timeline(self._write, began_s=self._began_s, colour=self._colour)
        self._client.subscribe(timeline.on_event)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._client.aclose()
