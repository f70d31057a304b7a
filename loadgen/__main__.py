"""`python -m loadgen URL -n 200 -c 4`: one load, one line of figures."""

import argparse
import asyncio
import os
import signal
import sys
from collections import Counter

from loadgen.engine import run_load
from loadgen.event_loop import loop_factory
from loadgen.load import Closed, Load, Request, TimeOuts
from loadgen.outcomes import ERROR_CLASS, JsonFieldRule
from loadgen.samples import Samples
from loadgen.statistics import Summary, summarise

BAD_USAGE = 2
INTERRUPTED = 130
MOST_KINDS = 5


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code: 0, 2 for bad arguments, 130 interrupted."""
    options = _parser().parse_args(argv)
    try:
        load = _load_from(options)
    except ValueError as problem:
        print(f"loadgen: {problem}", file=sys.stderr)
        return BAD_USAGE
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    samples = Samples()
    exit_code = 0
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(run_load(load, into=samples))
    except KeyboardInterrupt:
        done = f"{len(samples)} of {options.requests} requests"
        print(f"loadgen: interrupted; the figures are of {done}", file=sys.stderr)
        exit_code = INTERRUPTED
    if len(samples):
        print(format_line(summarise(samples, load.outcome.classes)))
        sys.stdout.flush()
        print(*describe_errors(samples), sep="", end="", file=sys.stderr)
    return exit_code


def describe_errors(samples: Samples) -> list[str]:
    """Return a line for each kind of error, the most frequent first."""
    kinds = Counter[str]()
    for ending, count in samples.count_endings().items():
        if ending.error:
            kinds[ending.error] += count
    return [f"loadgen: {count} x {error}\n" for error, count in kinds.most_common(MOST_KINDS)]


def format_line(summary: Summary) -> str:
    """Return the counts, mean, p95 (`n/a` under 20 requests) and rate as one line."""
    counts = "  ".join(f"{name} {summary.counts[name]:4d}" for name in summary.counts)
    p95 = "n/a" if summary.p95_ms is None else f"{summary.p95_ms:.1f} ms"
    rate = summary.requests_per_s
    return (
        f"{counts}  mean {summary.mean_ms:7.1f} ms  p95 {p95:>10}"
        f"  {rate:7.{0 if rate >= 10 else 1}f} requests/s"  # noqa: PLR2004 - two digits at least
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m loadgen",
        description="Send exactly N requests from C concurrent tasks and print one line.",
    )
    parser.add_argument("url", metavar="URL", help="absolute http(s) URL")
    parser.add_argument("-n", "--requests", type=int, default=200, metavar="N", help="default 200")
    parser.add_argument("-c", "--tasks", type=int, default=4, metavar="C", help="default 4")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="of one request")
    parser.add_argument(
        "--field", default="source", help="JSON field that names a reply's class (default source)"
    )
    parser.add_argument(
        "--classes", default="fresh,stale", help="its values, by comma; else: error"
    )
    return parser


def _load_from(options: argparse.Namespace) -> Load:
    classes = tuple(name.strip() for name in options.classes.split(",") if name.strip())
    if ERROR_CLASS in classes:
        raise ValueError("--classes: leave 'error' out, it is every other reply")
    return Load(
        requests=(Request(url=options.url),),
        shape=Closed(requests=options.requests, tasks=options.tasks),
        time_outs=TimeOuts(connect_s=min(options.timeout, 10.0), whole_s=options.timeout),
        outcome=JsonFieldRule(json_field=options.field, classes=classes),
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as failure:  # the figures cannot be written
        os.write(2, f"loadgen: {failure}\n".encode())
        os._exit(BAD_USAGE)
