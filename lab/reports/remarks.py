"""The lines below the table: what is outside, what does not hold, what was left out."""

from collections import Counter

from lab.reports.numbers import write_plain, write_share
from lab.reports.report import Report
from lab.reports.words import Words
from lab.results.summary import CellSummary
from lab.results.verdicts import Agreement, Outcome, Verdict
from lab.spec.timeline import WHOLE

MOST_DECIMALS = 15  # of a share in percent; a float has no more


def how_to_read(report: Report, words: Words) -> list[str]:
    """Return what the figures of the tables mean."""
    timeline = report.outline.timeline
    if timeline is None:
        return [words.how_to_read]
    if timeline.bursts or not timeline.events:
        return [words.how_to_read_timeline]
    detected = words.by_breaker if report.has_breaker else words.by_reply
    return [words.how_to_read_timeline, detected.format(well=report.outline.classes[0])]


def remarks(report: Report, words: Words) -> list[str]:
    """Return the lines, headings first; those that list something begin with `- `."""
    is_timeline = report.outline.timeline is not None
    return [
        *(_on_timeline_runs(report, words) if is_timeline else _on_runs(report, words)),
        *_on_published(report, words),
        *_on_expectations(report, words),
    ]


def _cell(fault: str, client: str, words: Words) -> str:
    return f"{words.name(fault)} / {words.name(client)}"


def _on_runs(report: Report, words: Words) -> list[str]:
    """Return how much stands behind the cells: first the usual, then each that differs."""
    sizes = Counter((each.runs, each.requests) for each in report.summaries)
    if not sizes:
        return []
    [(usual, _)] = sizes.most_common(1)
    lines = [words.usual_runs.format(runs=usual[0], requests=usual[1])]
    for summary in report.summaries:
        cell = _cell(summary.fault, summary.client, words)
        if (summary.runs, summary.requests) != usual:
            line = words.other_runs_line
            lines.append(
                "- " + line.format(cell=cell, runs=summary.runs, requests=summary.requests)
            )
        if summary.marked:
            lines.append(f"- {_marked(summary, cell, words)}")
    return lines


def _on_timeline_runs(report: Report, words: Words) -> list[str]:
    """Return how many runs stand behind the rows, and which did not count."""
    wholes = [each for each in report.summaries if each.fault == WHOLE]
    return [
        words.timeline_runs.format(runs=max((each.runs for each in wholes), default=0)),
        *(f"- {_marked(each, words.name(each.client), words)}" for each in wholes if each.marked),
    ]


def _marked(summary: CellSummary, cell: str, words: Words) -> str:
    why = "; ".join(summary.why)
    return words.marked_line.format(cell=cell, marked=summary.marked, why=why)


def _on_published(report: Report, words: Words) -> list[str]:
    if not report.verdicts:
        return []
    count = len(report.verdicts)
    outside = [each for each in report.verdicts if each.agreement is not Agreement.INSIDE]
    if not outside:
        return [words.all_inside.format(count=count)]
    return [
        words.some_outside.format(outside=len(outside), count=count),
        *(f"- {_outside(each, words)}" for each in outside),
    ]


def _outside(verdict: Verdict, words: Words) -> str:
    band = verdict.published
    line = words.no_figure_line if verdict.value is None else words.outside_line
    return line.format(
        cell=_cell(band.fault, band.client, words),
        figure=words.heading(band.figure),
        value="" if verdict.value is None else write_plain(verdict.value, words),
        low=write_plain(band.low, words),
        high=write_plain(band.high, words),
        published=write_plain(band.published, words),
        basis=band.basis,
    )


def _on_expectations(report: Report, words: Words) -> list[str]:
    if not report.outcomes:
        return []
    count = len(report.outcomes)
    failed = [each for each in report.outcomes if not each.holds]
    if not failed:
        return [words.all_hold.format(count=count)]
    return [
        words.some_fail.format(failed=len(failed), count=count),
        *(f"- {_failed(each, words)}" for each in failed),
    ]


def _failed(outcome: Outcome, words: Words) -> str:
    expected = outcome.expectation
    if expected.is_share:
        bound = f"{write_plain(100 * expected.value, words)} %"
    else:
        bound = write_plain(expected.value, words)
    value = words.missing
    if outcome.value is not None:
        value = _beside(bound, outcome.value, words, is_share=expected.is_share)
    return words.fail_line.format(
        cell=_cell(outcome.fault, outcome.client, words),
        figure=words.heading(expected.figure),
        value=words.of_one_run.format(value=value) if outcome.is_of_one_run else value,
        comparison=expected.comparison,
        bound=bound,
    )


def _beside(bound: str, value: float, words: Words, *, is_share: bool) -> str:
    """Return a value that does not keep *bound*, with as many decimals as it takes to see that."""
    if not is_share:
        return write_plain(value, words)
    texts = (write_share(value, words, decimals=decimals) for decimals in range(2, MOST_DECIMALS))
    return next((text for text in texts if text != bound), write_plain(value, words))
