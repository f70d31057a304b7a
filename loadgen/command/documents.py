"""Figures and comparisons as JSON-ready documents. Pure.

Format 1. Latencies are in milliseconds; null is a figure that the sample is too small for.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from loadgen.command.comparison import Ratio, Round
from loadgen.command.figures import Figures, Latencies
from loadgen.load import Load

FORMAT = 1
SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key"})
WITHHELD = "(withheld)"


def figures_document(load: Load, figures: Figures, *, is_interrupted: bool) -> dict[str, Any]:
    """Return one load and its figures."""
    return {
        "format": FORMAT,
        "load": _load(load),
        "interrupted": is_interrupted,
        **_figures(figures),
    }


def comparison_document(
    loads: tuple[Load, Load],
    rounds: Sequence[Round],
    ratios: Sequence[Ratio],
    *,
    is_interrupted: bool,
) -> dict[str, Any]:
    """Return two loads, the figures of each round, and the ratios of B to A."""
    return {
        "format": FORMAT,
        "load": {"a": _load(loads[0]), "b": _load(loads[1])},
        "interrupted": is_interrupted,
        "rounds": [{"a": _figures(each.a), "b": _figures(each.b)} for each in rounds],
        "ratios": {ratio.name: _ratio(ratio) for ratio in ratios},
    }


def _load(load: Load) -> dict[str, Any]:
    """Return a load as a document that may be shown around: headers that let one in say nothing."""
    document = load.to_document()
    for request in document["requests"]:
        request["headers"] = {
            name: WITHHELD if name.lower() in SECRET_HEADERS else value
            for name, value in request["headers"].items()
        }
    return document


def _figures(figures: Figures) -> dict[str, Any]:
    return {
        "requests": figures.requests,
        "duration_s": figures.duration_s,
        "scheduled_s": figures.report.scheduled_s if figures.report else None,
        "requests_per_s": figures.requests_per_s,
        "classes": {name: _latencies(values) for name, values in figures.by_class.items()},
        "success": _latencies(figures.success),
        "unanswered": figures.unanswered,
        "waiting": figures.waiting,
        "errors": [asdict(kind) for kind in figures.errors],
        "generator": figures.report.to_document() if figures.report else None,
        "limits": list(figures.limits),
    }


def _latencies(latencies: Latencies) -> dict[str, Any]:
    return {
        "count": latencies.count,
        "mean_ms": latencies.mean_ms,
        **{f"{name}_ms": value for name, value in latencies.percentiles_ms.items()},
        "max_ms": latencies.max_ms,
    }


def _ratio(ratio: Ratio) -> dict[str, Any]:
    return {
        "a": ratio.a,
        "b": ratio.b,
        "median": ratio.median,
        "least": ratio.least,
        "most": ratio.most,
        "agreeing": ratio.agreeing,
        "rounds": len(ratio.ratios),
    }
