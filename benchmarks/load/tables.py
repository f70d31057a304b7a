"""Medians over the rounds, and ratios to the yardsticks."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from rich.table import Table

from benchmarks.load.reading import Reading
from benchmarks.load.tools import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """Latencies that were seen on the loopback while a tool ran, and what that tool said then."""

    p50_us: float
    p99_us: float
    said_p50_us: float
    said_p99_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A tool with one kind of replies and one number of connections: medians over the rounds.

    Attributes:
        kind: of the replies.
        ratios: by yardstick, median of the ratios to it in the same round; those present only.
        wire: of the captured round; None if there was none.
    """

    kind: str
    connections: int
    tool: str
    per_s: float
    ratios: dict[str, float]
    cpu_us: float
    p50_us: float
    p99_us: float
    wire: Wire | None = None

    def to_document(self) -> dict[str, Any]:
        """Return the row as a JSON-ready document."""
        return asdict(self)


def rows_of(
    call: Call,
    readings: Mapping[str, Sequence[Reading]],
    wires: Mapping[str, Wire],
    yardsticks: Sequence[str],
) -> list[Row]:
    """Return one row per tool, in their order; all readings are in the order of the rounds."""
    measures = {name: readings[name] for name in yardsticks if name in readings}
    return [
        Row(
            kind=call.kind,
            connections=call.connections,
            tool=tool,
            per_s=median(reading.per_s for reading in own),
            ratios={name: _ratio(own, others) for name, others in measures.items()},
            cpu_us=median((reading.cpu_s or 0.0) / reading.requests * 1e6 for reading in own),
            p50_us=median(reading.p50_us for reading in own),
            p99_us=median(reading.p99_us for reading in own),
            wire=wires.get(tool),
        )
        for tool, own in readings.items()
    ]


def _ratio(readings: Sequence[Reading], others: Sequence[Reading]) -> float:
    pairs = zip(readings, others, strict=True)
    return median(reading.per_s / other.per_s for reading, other in pairs)


def table(rows: Sequence[Row], yardsticks: Sequence[str]) -> Table:
    """Return the rows of one kind and one number of connections as a table for the terminal."""
    title = f"{rows[0].kind} replies, {rows[0].connections} connections"
    result = Table(title=title, title_justify="left")
    result.add_column("tool")
    for heading in (
        "requests/s",
        *(f"of {name}" for name in yardsticks),
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
        result.add_row(*_cells(each, yardsticks))
    return result


def _cells(each: Row, yardsticks: Sequence[str]) -> list[str]:
    wire = each.wire
    seen = (wire.said_p50_us, wire.p50_us, wire.said_p99_us, wire.p99_us) if wire else (None,) * 4
    return [
        each.tool,
        f"{each.per_s:,.0f}",
        *(f"{each.ratios[name]:.2f}" if name in each.ratios else "n/a" for name in yardsticks),
        f"{each.cpu_us:.1f}",
        f"{each.p50_us:,.0f}",
        f"{each.p99_us:,.0f}",
        *("n/a" if value is None else f"{value:,.0f}" for value in seen),
    ]
