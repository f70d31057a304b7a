"""What one run came to, row by row: a cell of a table; phases or bursts, events, the whole."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lab.results.outline import Outline
from lab.results.recovery import EVENT_FIGURES, Reading, event_figures
from lab.results.touches import touch_columns
from lab.spec.expectations import REQUEST_FIGURES
from lab.spec.outcome import SPEED_FIGURES
from lab.spec.phases import Span, row_names, stretches
from lab.spec.timeline import WHOLE, Timeline
from loadgen import Sample, Samples, summarise
from loadgen.outcomes import ERROR_CLASS, GENERATOR_ERROR

LATE_S = 0.1  # a request that was sent later than this after it was due had no free connection
REQUESTS = "requests"
SENDING_FIGURES = ("not_sent", "sent_late")
BUDGET_FIGURES = ("budget_spent", "worst_second", "worst_second_at_s")

Figures = dict[str, float]  # by name; one that is not available has no entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One run as it was seen, all by one clock."""

    row: str  # the condition, or the whole of a timeline
    classes: tuple[str, ...]
    parts: Mapping[str, Samples]  # by burst; else all under an empty name
    requests: tuple[str, ...] = ()  # names of a mix's
    timeline: Timeline | None = None
    spans: Mapping[str, Span] = field(default_factory=dict)  # by event
    readings: Sequence[Reading] = ()  # of the breaker
    attempts: int | None = None  # calls that the system has sent to its sick service
    tasks: int | None = None  # that sent the load; None for an open load
    rate_per_s: float | None = None  # that was asked for; None for a closed load


def figure_names(outline: Outline) -> tuple[str, ...]:
    """Return every figure that a row can have, in the order of the columns."""
    counts = (*outline.classes, ERROR_CLASS, GENERATOR_ERROR)
    latencies = (each for each in SPEED_FIGURES if each.endswith("_ms"))
    of_one = (REQUESTS, *counts, *REQUEST_FIGURES)
    over_time = (*SENDING_FIGURES, *BUDGET_FIGURES, *EVENT_FIGURES)
    return (
        *(REQUESTS, "tasks", "asked_per_s", *counts, *latencies),
        *("requests_per_s", "duration_s", "attempts", "attempts_per_request"),
        *(over_time if outline.timeline else ()),
        *touch_columns(outline.most_faults),
        *(f"{name}.{figure}" for name in outline.requests for figure in of_one),
    )


def samples_by_row(observed: Observed) -> dict[str, Samples]:
    """Return the samples of each phase, by the moment when they were due, or of each burst."""
    timeline = observed.timeline
    if timeline is None:
        return {observed.row: observed.parts[""]}
    if timeline.bursts:
        return dict(observed.parts)
    parts = stretches(timeline, observed.spans)
    begins = [part.begin_s for part in parts]
    found = {part.phase: Samples() for part in parts}
    for sample in observed.parts[""]:
        number = max(0, bisect_right(begins, sample.scheduled_s) - 1)
        found[parts[number].phase].add(sample)
    return found


def figures_by_row(observed: Observed) -> dict[str, Figures]:
    """Return the figures of each row of the run: the condition, or all rows of a timeline.

    `budget_spent` is the share of the whole run's error budget that a row's bad replies took: 1 is
    all of it, and the phases add up to the whole. `worst_second` is the share of good replies
    among those due in the run's worst second, `worst_second_at_s` when that begins; without an
    objective a reply is good if it is no error.
    """
    whole = _whole(observed)
    rows = {} if observed.timeline is None else _over_time(observed, observed.timeline, whole)
    own = rows.setdefault(observed.row, _of_samples(whole, observed.classes, None))
    own |= _what_was_asked(observed)
    own |= _of_requests(observed.requests, whole, observed.classes)
    if observed.attempts is not None:
        own |= {"attempts": observed.attempts}
        own |= {"attempts_per_request": observed.attempts / len(whole)} if len(whole) else {}
    return rows


def _whole(observed: Observed) -> Samples:
    if len(observed.parts) == 1:
        return next(iter(observed.parts.values()))
    whole = Samples()
    for samples in observed.parts.values():
        whole.extend(samples)
    return whole


def _what_was_asked(observed: Observed) -> Figures:
    asked = {"tasks": observed.tasks, "asked_per_s": observed.rate_per_s}
    return {name: value for name, value in asked.items() if value is not None}


def _over_time(observed: Observed, timeline: Timeline, whole: Samples) -> dict[str, Figures]:
    is_good = _goodness(timeline)
    rows: dict[str, Figures] = {name: {} for name in row_names(timeline)}
    lengths_s = _lengths_s(timeline, observed.spans)
    for name, samples in (*samples_by_row(observed).items(), (WHOLE, whole)):
        rows[name] |= _of_samples(samples, observed.classes, lengths_s.get(name))
        rows[name] |= _sending(samples)
        rows[name] |= _spent(timeline, samples, len(whole), is_good)
    rows[WHOLE] |= _worst_second(whole, is_good)
    for name, figures in event_figures(
        timeline, whole, observed.spans, observed.readings, well=observed.classes[0]
    ).items():
        rows[name] |= figures
    return rows


def _lengths_s(timeline: Timeline, spans: Mapping[str, Span]) -> dict[str, float]:
    """Return how long requests of an open load fell due, in each phase and in all."""
    if timeline.bursts:
        return {}
    parts = stretches(timeline, spans)
    lengths_s = dict.fromkeys((part.phase for part in parts), 0.0)
    for part, end_s in zip(
        parts, [*(p.begin_s for p in parts[1:]), timeline.duration_s], strict=True
    ):
        lengths_s[part.phase] += max(0.0, end_s - part.begin_s)
    return lengths_s | {WHOLE: timeline.duration_s}


def _of_samples(samples: Samples, classes: Sequence[str], scheduled_s: float | None) -> Figures:
    """Return counts and speed; *scheduled_s*: how long requests fell due, if that is known."""
    if not len(samples):
        return dict.fromkeys((REQUESTS, *classes, ERROR_CLASS, GENERATOR_ERROR), 0)
    summary = summarise(samples, classes, scheduled_s=scheduled_s)
    figures = {REQUESTS: summary.requests, **summary.counts}
    speed = {name: getattr(summary, name, None) for name in (*SPEED_FIGURES, "duration_s")}
    return figures | {name: value for name, value in speed.items() if value is not None}


def _of_requests(names: Sequence[str], samples: Samples, classes: Sequence[str]) -> Figures:
    """Return the figures of each request of a mix, by its name, a dot and the figure's."""
    found: Figures = {}
    for number, name in enumerate(names):
        figures = _of_samples(samples.of_request(number), classes, None)
        found |= {
            f"{name}.{figure}": value
            for figure, value in figures.items()
            if figure not in {*SPEED_FIGURES, "duration_s"} - {*REQUEST_FIGURES}
        }
    return found


def _sending(samples: Samples) -> Figures:
    waits_s = [
        None if sent_s is None else sent_s - due_s
        for sent_s, due_s in zip(samples.sent_s, samples.scheduled_s, strict=True)
    ]
    return {
        "not_sent": sum(wait_s is None for wait_s in waits_s),
        "sent_late": sum(wait_s is not None and wait_s > LATE_S for wait_s in waits_s),
    }


def _goodness(timeline: Timeline) -> Callable[[Sample], bool]:
    objective = timeline.objective
    if objective is None:
        return lambda sample: sample.outcome not in {ERROR_CLASS, GENERATOR_ERROR}
    classes, within_s = frozenset(objective.classes), objective.within_s
    return lambda sample: (
        sample.outcome in classes
        and (within_s is None or sample.finished_s - sample.scheduled_s <= within_s)
    )


def _spent(
    timeline: Timeline, samples: Samples, all_requests: int, is_good: Callable[[Sample], bool]
) -> Figures:
    if timeline.objective is None or not all_requests:
        return {}
    bad = sum(not is_good(sample) for sample in samples)
    return {"budget_spent": bad / ((1 - timeline.objective.share) * all_requests)}


def _worst_second(samples: Samples, is_good: Callable[[Sample], bool]) -> Figures:
    """Return the second with the least share of good replies; of equals, where one waited most."""
    seconds: dict[int, list[Sample]] = {}
    for sample in samples:
        seconds.setdefault(int(sample.scheduled_s), []).append(sample)
    if not seconds:
        return {}

    def badness(second: int) -> tuple[float, float, int]:
        due = seconds[second]
        good = sum(map(is_good, due)) / len(due)
        return good, -max(each.finished_s - each.scheduled_s for each in due), second

    good, _, second = min(map(badness, seconds))
    return {"worst_second": good, "worst_second_at_s": float(second)}
