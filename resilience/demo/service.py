"""The demo's parts as services of their own: `python -m resilience.demo.service NAME --port N`.

`crypto` and `weather` are the two servers. They start anew on POST /begin, and say what will be
wrong with them: {"trouble": "…"}. The weather falls ill only if $WEATHER_FALLS_ILL is "true".
`caller` plays the scenario with the servers at $CRYPTO_URL and $WEATHER_URL, see `caller.Caller`,
and writes the timeline and the summary of each round to stdout.

Each service answers 200 on /health, and ends with SIGTERM.
"""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from random import Random

import stamina.instrumentation

from resilience.demo.caller import Caller
from resilience.demo.http_server import Answer, Reply, serving
from resilience.demo.servers import CryptoExchange, Weather


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m resilience.demo.service")
    parser.add_argument("name", choices=("crypto", "weather", "caller"))
    parser.add_argument("--port", type=int, required=True, help="on the loopback interface")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    wanted = parser.parse_args(argv)
    stamina.instrumentation.set_on_retry_hooks([])  # the timeline tells of retries
    asyncio.run(_serve(wanted.name, wanted.port, wanted.seed))
    return 0


async def _serve(name: str, port: int, seed: int) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with serving(_healthy(_answering(name, seed)), port=port):
        await stopped.wait()


def _answering(name: str, seed: int) -> Answer:
    loop = asyncio.get_running_loop()
    if name == "crypto":
        return Restartable(lambda: CryptoExchange(loop.time, Random(seed)))
    if name == "weather":
        falls_ill = _switch("WEATHER_FALLS_ILL")
        return Restartable(lambda: Weather(loop.time, falls_ill=falls_ill))
    return Caller(
        crypto_url=os.environ["CRYPTO_URL"],
        weather_url=os.environ["WEATHER_URL"],
        seed=seed,
        write=_log,
    )


def _switch(name: str) -> bool:
    value = os.environ.get(name, "false")
    if value not in {"true", "false"}:
        sys.exit(f'{name} must be "true" or "false", got {value!r}')
    return value == "true"


def _log(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _healthy(answer: Answer) -> Answer:
    async def answer_or_health(target: str) -> Reply:
        return Reply() if target == "/health" else await answer(target)

    return answer_or_health


class Restartable:
    """Answers as a server that is made anew when /begin is asked for.

    Args:
        make: Makes the server, whose life then begins.
    """

    def __init__(self, make: Callable[[], CryptoExchange | Weather]) -> None:
        self._make = make
        self._server = make()

    async def __call__(self, target: str) -> Reply:
        """Answer a request."""
        if target != "/begin":
            return await self._server(target)
        self._server = self._make()
        return Reply(body={"trouble": self._server.trouble})


if __name__ == "__main__":
    sys.exit(main())
