"""The demo's parts as services: `python -m examples.resilience_demo.service NAME --port N`.

`crypto` and `weather` are the two servers. They start anew on POST /begin, and say what will be
wrong with them: {"trouble": "…"}. The weather falls ill only if $WEATHER_FALLS_ILL is "true".
`caller` plays the scenario with the servers at $CRYPTO_URL and $WEATHER_URL, see `caller.Caller`,
and writes the timeline and the summary of each round to stdout.

Each service answers 200 on /health, and ends with SIGTERM. One that cannot start says why on stderr
and ends with exit code 2. A caller whose output cannot be written ends as the demo does.
"""

import argparse
import asyncio
import errno
import os
import signal
import sys
from collections.abc import Callable, Sequence
from random import Random

import stamina.instrumentation

from console import complain, run
from examples.resilience_demo.caller import Caller
from examples.resilience_demo.http_server import Answer, Reply, serving
from examples.resilience_demo.interrupt import end_at_once_on_interrupt
from examples.resilience_demo.output import UNWRITABLE, Output
from examples.resilience_demo.servers import CryptoExchange, Weather
from resilience import Source

_MODULE = "examples.resilience_demo.service"
_UNUSABLE = 2
_LAST_PORT = 65535


class UnusableError(Exception):
    """What was asked for cannot be had; the message says what to change."""


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; return the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {_MODULE}")
    parser.add_argument("name", choices=("crypto", "weather", "caller"))
    parser.add_argument("--port", type=_port, required=True, help="on the loopback interface")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    wanted = parser.parse_args(argv)
    stamina.instrumentation.set_on_retry_hooks([])  # the timeline tells of retries
    output = Output(sys.stdout)
    try:
        asyncio.run(_serve(wanted.name, wanted.port, wanted.seed, output))
    except UnusableError as error:
        complain(str(error))
        return _UNUSABLE
    output.check()
    return 0


def _port(text: str) -> int:
    if text.isdecimal() and 1 <= int(text) <= _LAST_PORT:
        return int(text)
    raise argparse.ArgumentTypeError(f"a port is a number in 1..{_LAST_PORT}, got {text!r}")


async def _serve(name: str, port: int, seed: int, output: Output) -> None:
    stopped = asyncio.Event()
    output.on_failure = stopped.set
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    answer = _healthy(_answering(name, seed, output))
    try:
        async with serving(answer, port=port):
            await stopped.wait()
    except OSError as error:
        reason = os.strerror(error.errno or errno.EADDRINUSE)
        raise UnusableError(
            f"--port {port} cannot be used ({reason}); choose another, or free this one"
        ) from error


def _answering(name: str, seed: int, output: Output) -> Answer:
    loop = asyncio.get_running_loop()
    if name == "crypto":
        return Restartable(lambda: CryptoExchange(loop.time, Random(seed)))
    if name == "weather":
        falls_ill = _switch("WEATHER_FALLS_ILL")
        return Restartable(lambda: Weather(loop.time, falls_ill=falls_ill))
    return Caller(
        crypto_url=_server_url("CRYPTO_URL"),
        weather_url=_server_url("WEATHER_URL"),
        seed=seed,
        write=output.write,
    )


def _server_url(name: str) -> str:
    url = os.environ.get(name)
    if url is None:
        server = name.removesuffix("_URL").lower()
        raise UnusableError(
            f"{name} is not set; set it to where `python -m {_MODULE} {server} --port 5411` "
            "listens: http://127.0.0.1:5411"
        )
    try:
        Source(name=name, base_url=url)
    except ValueError as error:
        raise UnusableError(f"{name}: {error}") from error
    return url


def _switch(name: str) -> bool:
    value = os.environ.get(name, "false")
    if value not in {"true", "false"}:
        raise UnusableError(f'{name} must be "true" or "false", got {value!r}')
    return value == "true"


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
    end_at_once_on_interrupt()
    run(main, program="caller", unwritable=UNWRITABLE)
