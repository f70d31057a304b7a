"""Figures and comparisons as text for a terminal. Pure."""

from collections.abc import Sequence

from loadgen.command.comparison import Ratio, Round
from loadgen.command.figures import SHARES, Figures, Latencies
from loadgen.numbers import percent, significant
from loadgen.outcomes import ERROR_CLASS, GENERATOR_ERROR

NOT_AVAILABLE = "n/a"
MOST_KINDS = 10


def figures_text(figures: Figures) -> str:
    """Return counts, the table of latencies, kinds of error, and the generator's verdict."""
    paragraphs = [
        _head(figures),
        _latency_table(figures),
        _errors(figures),
        unfinished(figures),
        _queued(figures),
        verdict(figures),
    ]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def unfinished(figures: Figures) -> str:
    """Say how many requests had not ended when the load was stopped; nothing if all had."""
    parts = []
    if figures.unanswered:
        parts.append(f"{figures.unanswered} sent and not answered")
    if figures.waiting:
        parts.append(f"{figures.waiting} due and not sent")
    return f"when the load was stopped: {', '.join(parts)}; in no figure above" if parts else ""


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
    """Say whether the figures are the generator's; nothing if it was stopped before it began."""
    report = figures.report
    if report is None:
        return ""
    if figures.limits:
        return (
            "these are figures of the generator and not of the target: "
            f"{'; '.join(figures.limits)}\n"
            "ask for less, free this machine of other work, or use more cores with --processes N"
        )
    busy = (
        ""
        if report.cpu_share is None
        else f"used {percent(report.cpu_share, decimals=0)} of a core; "
    )
    stalls = f"; it {report.stalls_in_words}, which may be the maximum above" * bool(report.stalls)
    lag_ms = significant(report.loop_lag_p99_ms, 2)
    return f"the generator {busy}its event loop was {lag_ms} ms late (p99){stalls}"


def _head(figures: Figures) -> str:
    report = figures.report
    connections = f", {report.connections} connections" if report else ""
    due = ""
    if report is not None and report.scheduled_s is not None:
        due = f" due in {_number(report.scheduled_s)} s, ended"
    return (
        f"{figures.requests} requests{due} in {_number(figures.duration_s)} s: "
        f"{_number(figures.requests_per_s)} requests/s{connections}"
    )


def _queued(figures: Figures) -> str:
    if figures.report is None or not figures.report.queued:
        return ""
    return (
        f"{figures.report.queued} requests found all connections busy and waited for one, which is "
        "part of their latencies; -c allows more"
    )


def _latency_table(figures: Figures) -> str:
    shown = {
        name: latencies
        for name, latencies in figures.by_class.items()
        if name != GENERATOR_ERROR or latencies.count
    }
    rows = [_latency_row(name, latencies, figures.requests) for name, latencies in shown.items()]
    classes = [name for name in shown if name not in {ERROR_CLASS, GENERATOR_ERROR}]
    if len(classes) > 1:  # else that one is all successes
        common = _latency_row("all but error", figures.success, figures.requests)
        rows.insert(len(classes), common)
    return _aligned([["latency in ms", "count", "share", "mean", *SHARES, "max"], *rows])


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
