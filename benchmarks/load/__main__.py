"""The load generator beside wrk, hey, ab, autocannon, Locust, httpx and aiohttp.

`python -m benchmarks.load [--rounds N] [--seconds S] [--connections 4,64] [--json]`

One nginx worker with a tiny reply has core 0, the tool that runs has core 1. The tools take turns,
in another order each round; a last round is captured on the loopback, and shows beside what each
tool says then how long the kernel saw its requests without a reply. What a tool adds to that is its
own: above all, replies that lie in its sockets while it is busy with others.

The clients in Python count their processor time under load, the other tools that of their whole
run. hey and ab know the time to 0.1 ms and to the microsecond; autocannon and Locust to the
millisecond. Needs Linux, nginx, taskset and two cores; without the right to open a raw socket
nothing is captured. A tool that is not installed is left out.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.load.capture import captured, waits_s
from benchmarks.load.reading import Reading, quantile_us
from benchmarks.load.tables import Row, Wire, rows_of, table
from benchmarks.load.target import nginx
from benchmarks.load.tools import TOOLS, YARDSTICK, Call, Tool

TARGET_CORE, TOOL_CORE = 0, 1
_SBIN = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 3 if there is nothing to measure with."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each tool (5)")
    parser.add_argument("--seconds", type=int, default=2, help="length of a turn (2)")
    parser.add_argument("--connections", default="4,64", help="numbers of connections (4,64)")
    parser.add_argument("--tools", default="", help="only these, by name, with commas (all)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args(arguments)
    notes = Console(stderr=True, highlight=False)
    program = shutil.which("nginx", path=_SBIN)
    if program is None or not shutil.which("taskset") or (os.cpu_count() or 1) <= TOOL_CORE:
        notes.print("nothing to measure with: needs nginx, taskset and two cores")
        return 3
    tools = _present(options.tools, notes)
    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        nginx(program, Path(folder), core=TARGET_CORE) as port,
    ):
        for connections in map(int, options.connections.split(",")):
            url = f"http://127.0.0.1:{port}/"
            call = Call(url=url, connections=connections, duration_s=options.seconds)
            readings = _rounds(tools, call, options.rounds, notes)
            wires = _captured_round(tools, call, port, notes)
            rows += rows_of(connections, readings, wires, YARDSTICK)
    _print(rows, as_json=options.json)
    return 0


def _present(names: str, notes: Console) -> list[Tool]:
    chosen = [tool for tool in TOOLS if not names or tool.name in names.split(",")]
    present = [tool for tool in chosen if tool.is_installed()]
    for tool in chosen:
        if tool not in present:
            notes.print(f"left out: {tool.name}, as {tool.program} is not installed")
    return present


def _rounds(
    tools: Sequence[Tool], call: Call, rounds: int, notes: Console
) -> dict[str, list[Reading]]:
    readings: dict[str, list[Reading]] = {tool.name: [] for tool in tools}
    for number in range(rounds):
        first = number % len(tools)
        for tool in (*tools[first:], *tools[:first]):
            reading = tool.run(call, core=TOOL_CORE)
            readings[tool.name].append(reading)
            notes.print(
                f"{call.connections} connections, round {number + 1} of {rounds}: "
                f"{tool.name} {reading.per_s:,.0f} requests/s"
            )
    return readings


def _captured_round(
    tools: Sequence[Tool], call: Call, port: int, notes: Console
) -> dict[str, Wire]:
    wires = {}
    for tool in tools:
        try:
            with captured(port) as segments:
                said = tool.run(call, core=TOOL_CORE)
        except PermissionError:
            notes.print("nothing captured: that takes the right to open a raw socket")
            return {}
        waits = waits_s(segments)
        wires[tool.name] = Wire(
            p50_us=quantile_us(waits, 0.5),
            p99_us=quantile_us(waits, 0.99),
            said_p50_us=said.p50_us,
            said_p99_us=said.p99_us,
        )
    return wires


def _print(rows: Sequence[Row], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([row.to_document() for row in rows], indent=2))
        return
    console = Console()
    for connections in dict.fromkeys(row.connections for row in rows):
        console.print(
            table(connections, [row for row in rows if row.connections == connections], YARDSTICK)
        )


if __name__ == "__main__":
    sys.exit(main())
