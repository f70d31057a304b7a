"""Figures and comparisons as text for a terminal. Pure."""

from collections.abc import Sequence

from loadgen.command.comparison import Ratio, Round
from loadgen.command.figures import SHARES, Figures, Latencies
from loadgen.numbers import percent, significant
from loadgen.outcomes import ERROR_CLASS

NOT_AVAILABLE = "n/a"
MOST_KINDS = 10


def figures_text(figures: Figures) -> str:
    """Return counts, the table of latencies, kinds of error, and the generator's verdict."""
    connections = f", {figures.report.connections} connections" if figures.report else ""
    head = (
        f"{figures.requests} requests in {_number(figures.duration_s)} s: "
        f"{_number(figures.requests_per_s)} requests/s{connections}"
    )
    paragraphs = [head, _latency_table(figures), _errors(figures), verdict(figures)]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def comparison_text(rounds: Sequence[Round], ratios: Sequence[Ratio]) -> str:
    """Return the ratios of B to A with their spread, and how many rounds agree with each."""
    rows = [["", "A", "B", "B / A", "spread", "rounds that agree"]]
    rows += [_ratio_row(ratio) for ratio in ratios]
    failures = [
        f"{name}: {sum(figures.failure.count for figures in side)} of "
        f"{sum(figures.requests for figures in side)} requests failed"
        for name, side in (("A", [each.a for each in rounds]), ("B", [each.b for each in rounds]))
    ]
    return "\n\n".join([_aligned(rows), "\n".join(failures)])


def verdict(figures: Figures) -> str:
    """Say whether the generator was the limit; nothing if it was stopped before it began."""
    report = figures.report
    if report is None:
        return ""
    if figures.limits:
        return (
            f"the generator, not the target, was the limit: {'; '.join(figures.limits)}\n"
            "ask for less, free this machine of other work, or use more cores with --processes N"
        )
    return (
        f"the generator used {percent(report.cpu_share, decimals=0)} of a core; its event loop was "
        f"{significant(report.loop_lag_p99_ms, 2)} ms late (p99)"
    )


def _latency_table(figures: Figures) -> str:
    rows = [["latency in ms", "count", "share", "mean", *SHARES, "max"]]
    rows += [
        _latency_row(name, latencies, figures.requests)
        for name, latencies in figures.by_class.items()
    ]
    if len(figures.by_class) > 2:  # noqa: PLR2004 - with one class beside error, that is success
        rows.insert(-1, _latency_row("all but error", figures.success, figures.requests))
    return _aligned(rows)


def _latency_row(name: str, latencies: Latencies, requests: int) -> list[str]:
    share = percent(latencies.count / requests) if requests else NOT_AVAILABLE
    values = [latencies.mean_ms, *latencies.percentiles_ms.values(), latencies.max_ms]
    return [name, str(latencies.count), share, *map(_number, values)]


def _errors(figures: Figures) -> str:
    lines = [f"{ERROR_CLASS}: {kind.count} x {kind.error}" for kind in figures.errors]
    if len(lines) > MOST_KINDS:
        lines[MOST_KINDS:] = [f"and {len(lines) - MOST_KINDS} more kinds; --json has them all"]
    return "\n".join(lines)


def _ratio_row(ratio: Ratio) -> list[str]:
    if ratio.median is None:
        return [ratio.name, *[NOT_AVAILABLE] * 5]
    spread = NOT_AVAILABLE
    if ratio.least is not None and ratio.most is not None:
        spread = f"{_ratio_text(ratio.least)} to {_ratio_text(ratio.most)}"
    return [
        ratio.name,
        _number(ratio.a),
        _number(ratio.b),
        _ratio_text(ratio.median),
        spread,
        f"{ratio.agreeing} of {len(ratio.ratios)}",
    ]


def _number(value: float | None) -> str:
    return NOT_AVAILABLE if value is None else significant(value, 3)


def _ratio_text(ratio: float) -> str:
    return f"{ratio:.3f}" if ratio >= 1 else significant(ratio, 3)


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of one length as lines: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
