"""What the resilient path costs the healthy front: requests/s of both clients, and of rates alone.

Runs the rates system as the lab does. The two clients take turns, five loads of 2,000 requests
each from 4 tasks, and with them, where it is installed, `wrk -t1 -c4`, which says what this machine
gives the bare rates service. Prints medians, and the two ratios pair by pair.
"""

import asyncio
import re
import shutil
import statistics
import tempfile
from pathlib import Path

from lab.running import bring_up
from lab.spec.system import read_system
from loadgen import Closed, JsonFieldRule, Load, Request, Worker, start_worker, summarise

REQUESTS, TASKS, ROUNDS = 2_000, 4, 5
WRK_S = 2
BARE = "rates"  # by wrk
RULE = JsonFieldRule(json_field="source", classes=("fresh", "stale"))


async def main() -> None:
    system_file = Path(__file__).parent.parent / "systems" / "rates.yaml"
    with tempfile.TemporaryDirectory() as logs:
        async with (
            start_worker() as worker,
            bring_up(read_system(system_file), Path(logs)) as system,
        ):
            convert = system.url("front") + "/convert?from=USD&amount=100"
            urls = {"resilient": convert, "raw": convert + "&raw=true"}
            report(await take_turns(worker, urls, system.url("rates") + "/rates/USD"))


async def take_turns(
    worker: Worker, urls: dict[str, str], bare: str
) -> dict[str, list[float | None]]:
    rates: dict[str, list[float | None]] = {name: [] for name in (*urls, BARE)}
    for round_ in range(ROUNDS + 1):
        for name, url in urls.items():
            load = Load(
                requests=(Request(url=url),),
                shape=Closed(requests=REQUESTS, tasks=TASKS),
                outcome=RULE,
            )
            samples = await worker.send(load)
            assert samples.outcome == ["fresh"] * REQUESTS, "the system is not well"
            rates[name].append(summarise(samples, RULE.classes).requests_per_s)
        rates[BARE].append(await wrk(bare))
        if not round_:  # the first is warm-up
            rates = {name: [] for name in rates}
    return rates


async def wrk(url: str) -> float | None:
    if (program := shutil.which("wrk")) is None:
        return None
    process = await asyncio.create_subprocess_exec(
        *(program, "-t1", "-c4", f"-d{WRK_S}", url), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    found = re.search(rb"Requests/sec:\s*([\d.]+)", output)
    return float(found[1]) if found else None


def report(rates: dict[str, list[float | None]]) -> None:
    for name, values in rates.items():
        known = [value for value in values if value is not None]
        if known:
            spread = f"{min(known):.0f} to {max(known):.0f}"
            print(f"{name:9} {statistics.median(known):7.0f} requests/s  ({spread})")
    print_ratio(rates, "resilient", "raw")
    print_ratio(rates, "raw", BARE)


def print_ratio(rates: dict[str, list[float | None]], ours: str, theirs: str) -> None:
    pairs = zip(rates[ours], rates[theirs], strict=True)
    ratios = [a / b for a, b in pairs if a is not None and b is not None]
    ratio = f"{statistics.median(ratios):.2f}" if ratios else "n/a, wrk is not installed"
    print(f"{ours} / {theirs}, median of {ROUNDS} pairs: {ratio}")


if __name__ == "__main__":
    asyncio.run(main())
