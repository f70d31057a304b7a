"""The demo's command line: `python -m resilience.demo [--seed N]`."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from random import Random

import stamina.instrumentation

from resilience.demo.http_server import serving
from resilience.demo.paint import wants_colour
from resilience.demo.round import Round
from resilience.demo.scenario import plan
from resilience.demo.servers import CryptoExchange, Weather

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
    loop = asyncio.get_running_loop()
    crypto = CryptoExchange(loop.time, Random(seed))
    weather = Weather(loop.time)
    async with (
        serving(crypto) as crypto_url,
        serving(weather) as weather_url,
        Round(
            crypto_url=crypto_url,
            weather_url=weather_url,
            random=Random(seed),
            write=_say,
            colour=wants_colour(sys.stdout),
        ) as played,
    ):
        async with asyncio.TaskGroup() as calls:
            for request in plan():
                calls.create_task(played.make(request))
        broken = played.conclude()
    for sentence in broken:
        sys.stderr.write(f"{sentence}\n")
    return 1 if broken else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
