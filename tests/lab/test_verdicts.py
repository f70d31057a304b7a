import pytest

from lab.results.outline import Outline
from lab.results.summary import CellSummary, Spread
from lab.results.verdicts import Agreement, Verdict, check, judge
from lab.spec.expectations import Comparison, Expectation, PublishedFigure


def _summary(fault: str, client: str, **medians: float) -> CellSummary:
    figures = {name: Spread(median=value, low=0, high=999) for name, value in medians.items()}
    shares = {name: Spread(median=value / 200, low=0, high=1) for name, value in medians.items()}
    return CellSummary(
        fault=fault, client=client, requests=200, runs=5, figures=figures, shares=shares
    )


def outline_of(*expectations: Expectation) -> Outline:
    return Outline(title="", classes=("fresh",), expectations=expectations)


def _published(fault: str, client: str, figure: str = "fresh") -> PublishedFigure:
    return PublishedFigure(
        fault=fault, client=client, figure=figure, published=193, low=185, high=200, basis="theory"
    )


@pytest.mark.parametrize(
    ("value", "agreement"),
    [
        (184.9, Agreement.OUTSIDE),
        (185, Agreement.INSIDE),
        (200, Agreement.INSIDE),
        (200.1, Agreement.OUTSIDE),
        (None, Agreement.NOT_AVAILABLE),
    ],
)
def test_a_figure_is_inside_its_band_if_it_is_between_the_ends_or_on_one(
    value: float | None, agreement: Agreement
) -> None:
    assert Verdict(published=_published("none", "raw"), value=value).agreement is agreement


def test_each_published_figure_of_a_cell_that_ran_has_one_verdict() -> None:
    summaries = [_summary("none", "raw", fresh=190), _summary("none", "resilient", fresh=20)]
    published = [
        _published("none", "resilient"),
        _published("none", "raw"),
        _published("none", "raw", "p95_ms"),
        _published("500 ms delay", "raw"),
    ]

    verdicts = judge(summaries, published)

    assert [(v.published.client, v.published.figure, v.agreement.value) for v in verdicts] == [
        ("raw", "fresh", "inside"),
        ("raw", "p95_ms", "not available"),
        ("resilient", "fresh", "outside"),
    ]


@pytest.mark.parametrize(
    ("comparison", "below", "equal", "above"),
    [
        ("==", False, True, False),
        ("<=", True, True, False),
        (">=", False, True, True),
        ("<", True, False, False),
        (">", False, False, True),
    ],
)
def test_an_expectation_compares_the_median_with_its_bound(
    comparison: Comparison,
    below: bool,
    equal: bool,
    above: bool,
) -> None:
    expectation = Expectation(figure="mean_ms", comparison=comparison, value=5)

    outcomes = [
        check([_summary("none", "raw", mean_ms=v)], outline_of(expectation))[0] for v in (4, 5, 6)
    ]

    assert [outcome.holds for outcome in outcomes] == [below, equal, above]


def test_a_share_is_held_against_a_share() -> None:
    share = Expectation(figure="fresh", comparison="==", value=0.965, is_share=True)

    [outcome] = check([_summary("none", "raw", fresh=193)], outline_of(share))

    assert (outcome.value, outcome.holds) == (0.965, True)


def test_an_expectation_is_checked_in_every_cell_that_it_speaks_of() -> None:
    summaries = [_summary(fault, client) for fault in ("none", "sick") for client in ("a", "b")]
    error_free = Expectation(figure="error", comparison="==", value=0)

    def checked(fault: str | None, client: str | None) -> list[str]:
        expectation = Expectation(
            figure="error", comparison="==", value=0, fault=fault, client=client
        )
        return [f"{o.fault} {o.client}" for o in check(summaries, outline_of(expectation))]

    assert len(check(summaries, outline_of(error_free))) == 4
    assert checked("none", None) == ["none a", "none b"]
    assert checked(None, "b") == ["none b", "sick b"]
    assert checked("sick", "a") == ["sick a"]


def test_an_expectation_without_data_does_not_hold() -> None:
    [outcome] = check(
        [_summary("none", "raw")],
        outline_of(Expectation(figure="error", comparison=">=", value=0)),
    )

    assert (outcome.value, outcome.holds) == (None, False)
