"""Medians over the rounds, and ratios to the yardstick."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from rich.table import Table

from benchmarks.load.reading import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """Latencies that were seen on the loopback while a tool ran, and what that tool said then."""

    p50_us: float
    p99_us: float
    said_p50_us: float
    said_p99_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A tool at one number of connections: medians over the rounds.

    Attributes:
        ratio: median of the ratios to the yardstick in the same round; None without it.
        wire: of the captured round; None if there was none.
    """

    connections: int
    tool: str
    per_s: float
    ratio: float | None
    cpu_us: float
    p50_us: float
    p99_us: float
    wire: Wire | None = None

    def to_document(self) -> dict[str, Any]:
        """Return the row as a JSON-ready document."""
        return asdict(self)


def row(
    connections: int,
    tool: str,
    readings: Sequence[Reading],
    yardstick: Sequence[Reading],
    wire: Wire | None,
) -> Row:
    """Return the row of a tool; its readings and the yardstick's are in the order of the rounds.

    An empty *yardstick* is one that is not there.
    """
    pairs = zip(readings, yardstick, strict=True) if yardstick else ()
    ratios = [reading.per_s / by.per_s for reading, by in pairs]
    return Row(
        connections=connections,
        tool=tool,
        per_s=median(reading.per_s for reading in readings),
        ratio=median(ratios) if ratios else None,
        cpu_us=median((reading.cpu_s or 0.0) / reading.requests * 1e6 for reading in readings),
        p50_us=median(reading.p50_us for reading in readings),
        p99_us=median(reading.p99_us for reading in readings),
        wire=wire,
    )


def table(connections: int, rows: Sequence[Row], yardstick: str) -> Table:
    """Return the rows of one number of connections as a table for the terminal."""
    result = Table(title=f"{connections} connections", title_justify="left")
    result.add_column("tool")
    for heading in (
        "requests/s",
        f"of {yardstick}",
        "CPU us each",
        "p50 us",
        "p99 us",
        "captured: p50 us",
        "on the wire",
        "p99 us",
        "on the wire",
    ):
        result.add_column(heading, justify="right")
    for each in rows:
        result.add_row(*_cells(each))
    return result


def _cells(each: Row) -> list[str]:
    wire = each.wire
    seen = (wire.said_p50_us, wire.p50_us, wire.said_p99_us, wire.p99_us) if wire else (None,) * 4
    return [
        each.tool,
        f"{each.per_s:,.0f}",
        "n/a" if each.ratio is None else f"{each.ratio:.2f}",
        f"{each.cpu_us:.1f}",
        f"{each.p50_us:,.0f}",
        f"{each.p99_us:,.0f}",
        *("n/a" if value is None else f"{value:,.0f}" for value in seen),
    ]


def rows_of(
    connections: int,
    readings: Mapping[str, Sequence[Reading]],
    wires: Mapping[str, Wire],
    yardstick: str,
) -> list[Row]:
    """Return one row a tool, in their order."""
    by = readings.get(yardstick, ())
    return [row(connections, tool, of, by, wires.get(tool)) for tool, of in readings.items()]
