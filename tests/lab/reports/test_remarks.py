"""What is said below the table of an expectation that is not met."""

import pytest

from lab.reports import LANGUAGES, Report
from lab.reports.remarks import remarks
from lab.results.outline import Outline
from lab.results.summary import CellSummary, Spread
from lab.results.verdicts import check, judge
from lab.spec.expectations import Comparison, Expectation, PublishedFigure

MANY = 50_000


def spread(*values: float) -> Spread:
    ordered = sorted(values)
    return Spread(median=ordered[len(ordered) // 2], low=ordered[0], high=ordered[-1])


def cell(*errors: int, mean_ms: float = 3, requests: int = MANY) -> CellSummary:
    """Return a cell whose runs had so many errors each."""
    fine = [requests - each for each in errors]
    return CellSummary(
        fault="none",
        client="raw",
        requests=requests,
        runs=len(errors),
        figures={"error": spread(*errors), "ok": spread(*fine), "mean_ms": spread(mean_ms)},
        shares={
            "error": spread(*(each / requests for each in errors)),
            "ok": spread(*(each / requests for each in fine)),
        },
    )


def said(
    summary: CellSummary,
    figure: str,
    comparison: Comparison,
    value: float,
    *,
    is_share: bool = True,
    language: str = "en",
) -> list[str]:
    expectation = Expectation(figure=figure, comparison=comparison, value=value, is_share=is_share)
    outline = Outline(title="", classes=("ok",), expectations=(expectation,))
    report = Report(outline=outline, summaries=(), outcomes=check([summary], outline))
    return [line for line in remarks(report, LANGUAGES[language]) if line.startswith("- ")]


def test_one_error_in_50_000_is_not_0_percent_and_the_rest_not_100() -> None:
    assert said(cell(1), "error", "==", 0) == ["- none / raw, Error: <0.01 %, expected == 0 %"]
    assert said(cell(1), "ok", ">=", 1) == ["- none / raw, ok: >99.99 %, expected >= 100 %"]
    assert said(cell(1), "ok", "==", 1, language="uk") == [
        "- немає / raw, ok: >99,99 %, очікувано == 100 %"
    ]


@pytest.mark.parametrize("errors", [(0, 0, 1), (0, 1, 0, 0, 0)])
def test_an_error_in_one_of_the_runs_is_one_though_the_median_has_none(
    errors: tuple[int, ...],
) -> None:
    summary = cell(*errors)

    assert said(summary, "error", "==", 0) == [
        "- none / raw, Error: <0.01 % in one of the runs, expected == 0 %"
    ]
    assert said(summary, "ok", ">=", 1) == [
        "- none / raw, ok: >99.99 % in one of the runs, expected >= 100 %"
    ]
    assert said(summary, "error", "<=", 0, is_share=False) == [
        "- none / raw, Error: 1 in one of the runs, expected <= 0"
    ]


def test_other_bounds_are_of_the_median() -> None:
    assert said(cell(0, 0, 1), "error", "<", 0.00001) == []
    assert said(cell(0, 0, 1), "ok", ">", 0.99999) == []
    assert said(cell(0, 0, 0), "error", "==", 0) == []


@pytest.mark.parametrize(
    ("figure", "comparison", "bound", "line"),
    [
        ("ok", ">=", 0.95, "ok: 94.998 %, expected >= 95 %"),
        ("error", "<", 0.05, "Error: 5.002 %, expected < 5 %"),
        ("error", "<=", 0.00001, "Error: 5 %, expected <= 0.001 %"),
    ],
)
def test_a_value_beside_a_bound_that_it_does_not_keep_never_reads_like_it(
    figure: str, comparison: Comparison, bound: float, line: str
) -> None:
    errors = 2500 if bound == 0.00001 else 2501

    assert said(cell(errors), figure, comparison, bound) == [f"- none / raw, {line}"]


def test_a_figure_beside_a_band_in_which_it_is_not_has_all_its_digits() -> None:
    band = PublishedFigure(
        fault="none", client="raw", figure="mean_ms", published=3, low=0, high=12, basis="theory"
    )
    report = Report(
        outline=Outline(title="", classes=("ok",)),
        summaries=(),
        verdicts=judge([cell(0, mean_ms=12.4)], [band]),
    )

    assert remarks(report, LANGUAGES["en"])[1] == (
        "- none / raw, Mean, ms: 12.4, band 0 to 12, published 3 (theory)"
    )
