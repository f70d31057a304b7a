"""The load generator beside wrk, hey, ab, autocannon, Locust, httpx and aiohttp.

`python -m benchmarks.load [--rounds N] [--seconds S] [--connections 4,64] [--json]`

One nginx worker with tiny replies has core 0, the tool that runs has core 1. The replies are of two
kinds: constant ones, and varying ones with an `X-Request-Id` and a body of their own, as most
services send them; a tool that knows a reply again is fast with the first. The tools take turns,
each with both kinds, in another order each round; a last round is captured on the loopback, and
shows beside what each tool says then how long the kernel saw its requests without a reply. What a
tool adds to that is its own: above all, replies that lie in its sockets while it is busy with
others.

Of all tools only ours, aiohttp, Locust and httpx look into each reply, and only ours keeps a sample
of each.

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
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Console

from benchmarks.load.capture import captured, waits_s
from benchmarks.load.reading import Reading, quantile_us
from benchmarks.load.tables import Row, Wire, rows_of, table
from benchmarks.load.target import KINDS, nginx
from benchmarks.load.tools import TOOLS, YARDSTICKS, Call, Tool

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
            rows += _rows_at(connections, port, tools, options, notes)
    _print(rows, as_json=options.json)
    return 0


def _present(names: str, notes: Console) -> list[Tool]:
    chosen = [tool for tool in TOOLS if not names or tool.name in names.split(",")]
    present = [tool for tool in chosen if tool.is_installed()]
    for tool in chosen:
        if tool not in present:
            notes.print(f"left out: {tool.name}, as {tool.program} is not installed")
    return present


def _rows_at(
    connections: int,
    port: int,
    tools: Sequence[Tool],
    options: argparse.Namespace,
    notes: Console,
) -> list[Row]:
    """Measure all tools with all kinds of replies at one number of connections."""
    origin = f"http://127.0.0.1:{port}"
    calls = [
        Call(origin=origin, kind=kind, connections=connections, duration_s=options.seconds)
        for kind in KINDS
    ]
    readings = _rounds(tools, calls, options.rounds, notes)
    rows: list[Row] = []
    for call in calls:
        wires = _captured_round(tools, call, port, notes)
        rows += rows_of(call, readings[call.kind], wires, YARDSTICKS)
    return rows


def _rounds(
    tools: Sequence[Tool], calls: Sequence[Call], rounds: int, notes: Console
) -> Mapping[str, Mapping[str, list[Reading]]]:
    """Return the readings by kind of replies and by tool, in the order of the rounds."""
    readings: dict[str, dict[str, list[Reading]]] = {
        call.kind: {tool.name: [] for tool in tools} for call in calls
    }
    for number in range(rounds):
        first = number % len(tools)
        for tool in (*tools[first:], *tools[:first]):
            for call in calls:
                reading = tool.run(call, core=TOOL_CORE)
                readings[call.kind][tool.name].append(reading)
                notes.print(
                    f"{call.connections} connections, {call.kind} replies, round {number + 1} "
                    f"of {rounds}: {tool.name} {reading.per_s:,.0f} requests/s"
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
    for _, group in groupby(rows, key=lambda row: (row.connections, row.kind)):
        console.print(table(list(group), YARDSTICKS))


if __name__ == "__main__":
    sys.exit(main())
