"""The demo's command line: `python -m examples.resilience_demo [--seed N]`."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from random import Random

import stamina.instrumentation

from console import complain, run
from examples.resilience_demo.http_server import serving
from examples.resilience_demo.interrupt import end_at_once_on_interrupt
from examples.resilience_demo.output import UNWRITABLE, Output
from examples.resilience_demo.paint import wants_colour
from examples.resilience_demo.round import Round
from examples.resilience_demo.scenario import plan
from examples.resilience_demo.servers import CryptoExchange, Weather

_EPILOG = """\
Colour is used on a terminal unless NO_COLOR is set.

exit codes:
  0    fine
  1    the summary does not add up, or the output cannot be written
  2    the command is wrong
  130  interrupted
  141  the reader of the output has gone away
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; return its exit code, see `--help`."""
    seed = _parser().parse_args(argv).seed
    if sys.stdout is None:
        complain("there is no standard output; leave it open, or send it to a file")
        return UNWRITABLE
    stamina.instrumentation.set_on_retry_hooks([])  # the timeline tells of retries
    output = Output(sys.stdout)
    complaints = asyncio.run(_play(seed, output, colour=wants_colour(sys.stdout)))
    output.check()
    for sentence in complaints:
        complain(sentence)
    return 1 if complaints else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m examples.resilience_demo",
        description="100 requests to two unwell servers on this machine, in about 12 s.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="of jitter and of failures (default: %(default)s)"
    )
    return parser


async def _play(seed: int, output: Output, *, colour: bool) -> list[str]:
    """Play the scenario until its end or that of the output; return what does not add up."""
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
            write=output.write,
            colour=colour,
        ) as played,
    ):
        weather.begin()
        async with asyncio.TaskGroup() as tasks:
            requests = tasks.create_task(played.make_all(plan()))
            output.on_failure = requests.cancel
        return played.conclude()


if __name__ == "__main__":
    end_at_once_on_interrupt()
    run(main, program="resilience_demo", unwritable=UNWRITABLE)
