"""The scenario over HTTP: whoever calls plays it, as often as they like."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from random import Random

import httpx

from examples.resilience_demo.http_server import Reply
from examples.resilience_demo.round import Round
from examples.resilience_demo.scenario import PlannedRequest, repeated_plan
from examples.resilience_demo.servers import CRYPTO, WEATHER

_CLASSES = {CRYPTO: "crypto", WEATHER: "weather"}
_GATHERING_S = 0.5  # so that a round's first call is still under way when the next ones come
_BEGIN_TIMEOUT_S = 5.0


class Caller:
    """Makes the n-th request of the plan for the n-th call of a round, when the plan says.

    A round begins with a call that comes while none is under way: both servers are told to start
    anew, and so does the client. It ends with its last call, and its summary is written.

        GET /call    {"outcome": "crypto_ok"}: the source, and ok, failed or rejected
        GET /stats   {"attempts": requests sent to both sources so far}

    Args:
        crypto_url, weather_url: Where the two servers are; each starts anew on POST /begin.
        seed: Of each round's jitter.
        write: Takes a line without its end.
        plan: Returns the requests of a round in the order of time, as many as there may be.
    """

    def __init__(
        self,
        *,
        crypto_url: str,
        weather_url: str,
        seed: int,
        write: Callable[[str], object],
        plan: Callable[[], Iterator[PlannedRequest]] = repeated_plan,
    ) -> None:
        self._urls = (crypto_url, weather_url)
        self._seed = seed
        self._write = write
        self._plan = plan
        self._under_way = 0
        self._rounds = 0
        self._attempts_before = 0
        self._changing = asyncio.Lock()
        self._round: Round | None = None
        self._requests: Iterator[PlannedRequest] = iter(())
        self._open = AsyncExitStack()

    async def __call__(self, target: str) -> Reply:
        """Answer a request; with 503 if a server does not start anew."""
        path = target.partition("?")[0]
        if path == "/stats":
            now = self._round.attempts if self._round is not None else 0
            return Reply(body={"attempts": self._attempts_before + now})
        if path != "/call":
            return Reply(status=404)
        try:
            return Reply(body={"outcome": await self._take_part()})
        except httpx.HTTPError as error:
            return Reply(status=503, body={"error": f"{error!r}; are both servers running?"})

    async def _take_part(self) -> str:
        self._under_way += 1
        try:
            async with self._changing:
                current = self._round or await self._begin()
                request = next(self._requests)
            outcome = await current.make(replace(request, at_s=request.at_s + _GATHERING_S))
        finally:
            self._under_way -= 1
            async with self._changing:
                if not self._under_way:
                    await self._end()
        return f"{_CLASSES[request.source]}_{outcome}"

    async def _begin(self) -> Round:
        async with AsyncExitStack() as opened, _begin_client() as http:
            # Its clock first, so that the weather does not fall ill before its time.
            begun = await opened.enter_async_context(self._new_round())
            troubles = [await _start_anew(http, url) for url in self._urls]
            self._open = opened.pop_all()
        self._rounds += 1
        self._write(f"ROUND {self._rounds}: {'; '.join(troubles)}")
        self._requests = self._plan()
        self._round = begun
        return begun

    def _new_round(self) -> Round:
        crypto_url, weather_url = self._urls
        return Round(
            crypto_url=crypto_url,
            weather_url=weather_url,
            random=Random(self._seed),
            write=self._write,
            colour=False,
        )

    async def _end(self) -> None:
        if self._round is None:
            return
        for sentence in self._round.conclude():
            self._write(sentence)
        self._write("")
        self._attempts_before += self._round.attempts
        self._round = None
        await self._open.aclose()


def _begin_client() -> httpx.AsyncClient:
    return httpx.AsyncClient(trust_env=False, timeout=_BEGIN_TIMEOUT_S)


async def _start_anew(http: httpx.AsyncClient, url: str) -> str:
    """Return what is wrong with the server from now on, in words."""
    reply = (await http.post(f"{url}/begin")).raise_for_status()
    return str(reply.json()["trouble"])
