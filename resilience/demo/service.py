"""The demo's parts as services of their own: `python -m resilience.demo.service NAME --port N`.

`crypto` and `weather` are the two servers; here the weather is well until somebody stops it.
`caller` calls them at $CRYPTO_URL and $WEATHER_URL, and tells how that went:

    GET /call?source=crypto   {"outcome": "ok" | "failed" | "rejected"}
    GET /stats                {"attempts": requests sent to both}

Rejected: the call ended by a limit or an open circuit of the caller's own. Each service answers
200 on /health, and ends with SIGTERM.
"""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from urllib.parse import parse_qs, urlsplit

import httpx
import stamina.instrumentation

from resilience import BulkheadFull, CircuitOpen, RateLimited, ResilienceError, ResilientClient
from resilience.demo.http_server import Answer, Reply, serving
from resilience.demo.scenario import sources
from resilience.demo.servers import CRYPTO, WEATHER, CryptoExchange, Weather

_SOURCES = {"crypto": CRYPTO, "weather": WEATHER}
_UNSENT = (CircuitOpen, RateLimited, BulkheadFull)


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m resilience.demo.service")
    parser.add_argument("name", choices=("crypto", "weather", "caller"))
    parser.add_argument("--port", type=int, required=True, help="on the loopback interface")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    wanted = parser.parse_args(argv)
    stamina.instrumentation.set_on_retry_hooks([])  # a line a retry would be many
    asyncio.run(_serve(wanted.name, wanted.port, Random(wanted.seed)))
    return 0


async def _serve(name: str, port: int, random: Random) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with _answering(name, random) as answer, serving(_healthy(answer), port=port):
        await stopped.wait()


@asynccontextmanager
async def _answering(name: str, random: Random) -> AsyncIterator[Answer]:
    if name == "crypto":
        yield CryptoExchange(asyncio.get_running_loop().time, random)
    elif name == "weather":
        yield Weather(lambda: 0.0)
    else:
        both = sources(crypto_url=os.environ["CRYPTO_URL"], weather_url=os.environ["WEATHER_URL"])
        async with ResilientClient(both, random=random) as client:
            yield Caller(client)


def _healthy(answer: Answer) -> Answer:
    async def answer_or_health(target: str) -> Reply:
        return Reply() if target == "/health" else await answer(target)

    return answer_or_health


class Caller:
    """Calls a source for whoever asks, and says what came of it."""

    def __init__(self, client: ResilientClient) -> None:
        self._client = client

    async def __call__(self, target: str) -> Reply:
        """Answer a request."""
        url = urlsplit(target)
        if url.path == "/stats":
            counted = [self._client.statistics(name) for name in _SOURCES.values()]
            return Reply(body={"attempts": sum(each.attempts for each in counted)})
        name = _SOURCES.get(parse_qs(url.query).get("source", [""])[0])
        if url.path != "/call" or name is None:
            return Reply(status=404)
        return Reply(body={"outcome": await self._outcome(name)})

    async def _outcome(self, source: str) -> str:
        try:
            response = await self._client.get(source, "/")
        except _UNSENT:
            return "rejected"
        except (ResilienceError, httpx.TransportError):
            return "failed"
        return "ok" if response.is_success else "failed"


if __name__ == "__main__":
    sys.exit(main())
