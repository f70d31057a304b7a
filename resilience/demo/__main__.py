"""The demo's command line: `python -m resilience.demo [--seed N]`."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from random import Random

import httpx
import stamina.instrumentation

from resilience import ResilienceError, ResilientClient
from resilience.demo.http_server import serving
from resilience.demo.paint import Colour, painted, wants_colour
from resilience.demo.scenario import PlannedRequest, plan, sources
from resilience.demo.servers import CryptoExchange, Weather
from resilience.demo.summary import broken_identities, summary
from resilience.demo.timeline import Timeline

_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; return 0, or 1 if the summary does not add up."""
    parser = argparse.ArgumentParser(
        prog="python -m resilience.demo",
        description="100 requests to two unwell servers on this machine, in about 10 s.",
        epilog="Colour is used on a terminal unless NO_COLOR is set.",
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="of jitter and of failures (default: %(default)s)"
    )
    seed = parser.parse_args(argv).seed
    stamina.instrumentation.set_on_retry_hooks([])  # the timeline tells of retries
    try:
        return asyncio.run(_run(seed))
    except KeyboardInterrupt:
        return _INTERRUPTED


async def _run(seed: int) -> int:
    loop, colour = asyncio.get_running_loop(), wants_colour(sys.stdout)
    crypto = CryptoExchange(loop.time, Random(seed))
    weather = Weather(lambda: loop.time() - began_s)
    async with serving(crypto) as crypto_url, serving(weather) as weather_url:
        both = sources(crypto_url=crypto_url, weather_url=weather_url)
        async with ResilientClient(both, random=Random(seed)) as client:
            began_s = loop.time()  # all is set up: from now on time is part of the scenario
            client.subscribe(Timeline(_say, began_s=began_s, colour=colour).on_event)
            async with asyncio.TaskGroup() as calls:
                for request in plan():
                    calls.create_task(_make(client, request, began_s))
            return _conclude(client, [each.name for each in both], began_s, colour=colour)


async def _make(client: ResilientClient, request: PlannedRequest, began_s: float) -> None:
    await asyncio.sleep(began_s + request.at_s - asyncio.get_running_loop().time())
    with suppress(ResilienceError, httpx.TransportError):  # the timeline and the summary tell
        await client.get(request.source, request.path)


def _conclude(
    client: ResilientClient, names: Sequence[str], began_s: float, *, colour: bool
) -> int:
    counted = [client.statistics(name) for name in names]
    _say("")
    _say(painted("SUMMARY", Colour.BOLD) if colour else "SUMMARY")
    for line in summary(counted, began_s=began_s):
        _say(f"  {line}")
    broken = list(broken_identities(counted))
    for sentence in broken:
        sys.stderr.write(f"{sentence}\n")
    return 1 if broken else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
