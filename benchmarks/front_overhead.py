"""What the resilient path costs the healthy front: requests/s of both clients, and of rates alone.

Runs the rates system as the lab does. The two clients take turns, five loads of 2,000 requests
each from 4 tasks; `wrk -t1 -c4`, where it is installed, then says what this machine gives the
bare rates service. Prints medians and the two ratios.
"""

import asyncio
import re
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lab.files import read_system
from lab.load_worker import LoadWorker, start_load_worker
from lab.running import bring_up
from loadgen import Load, OutcomeRule, summarise

REQUESTS, TASKS, ROUNDS = 2_000, 4, 5
WRK_S = 3
RULE = OutcomeRule(json_field="source", classes=("fresh", "stale"))


async def main() -> None:
    system_file = Path(__file__).parent.parent / "systems" / "rates.yaml"
    with tempfile.TemporaryDirectory() as logs:
        async with (
            start_load_worker() as worker,
            bring_up(read_system(system_file), Path(logs)) as system,
        ):
            convert = system.url("front") + "/convert?from=USD&amount=100"
            rates = await take_turns(worker, {"resilient": convert, "raw": convert + "&raw=true"})
            alone = [await wrk(system.url("rates") + "/rates/USD") for _ in range(ROUNDS)]
    report(rates, alone)


async def take_turns(worker: LoadWorker, urls: dict[str, str]) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {name: [] for name in urls}
    for round_ in range(ROUNDS + 1):
        for name, url in urls.items():
            load = Load(url=url, requests=REQUESTS, tasks=TASKS, outcome=RULE)
            samples = await worker.send(load, on_finished=lambda _: None)
            assert samples.outcome == ["fresh"] * REQUESTS, "the system is not well"
            if round_:  # the first is warm-up
                rates[name].append(summarise(samples, RULE.classes).requests_per_s)
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


def report(rates: dict[str, list[float]], alone: Sequence[float | None]) -> None:
    medians = {name: statistics.median(values) for name, values in rates.items()}
    for name, values in rates.items():
        print(f"{name:9} {medians[name]:7.0f} requests/s  ({min(values):.0f} to {max(values):.0f})")
    pairs = [a / b for a, b in zip(rates["resilient"], rates["raw"], strict=True)]
    print(f"resilient / raw, median of {len(pairs)} pairs: {statistics.median(pairs):.2f}")
    known = [value for value in alone if value is not None]
    if not known:
        print("raw / wrk on rates: n/a, wrk is not installed")
        return
    peer = statistics.median(known)
    print(f"rates     {peer:7.0f} requests/s by wrk -t1 -c4")
    print(f"raw / wrk on rates: {medians['raw'] / peer:.2f}")


if __name__ == "__main__":
    asyncio.run(main())
