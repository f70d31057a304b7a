"""What one run of a timeline came to, row by row: phases or bursts, events, the whole. Pure."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lab.spec.outcome import SPEED_FIGURES
from lab.spec.timeline import WHOLE, Timeline
from lab.timeline.breaker import Reading
from lab.timeline.phases import Span, row_names, stretches
from lab.timeline.recovery import EVENT_FIGURES, event_figures
from lab.touches import columns_for
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

    timeline: Timeline
    classes: tuple[str, ...]
    parts: Mapping[str, Samples]  # by burst; of an open load all under an empty name
    spans: Mapping[str, Span]  # by event
    readings: Sequence[Reading]  # of the breaker


def figure_names(classes: Sequence[str], timeline: Timeline) -> tuple[str, ...]:
    """Return every figure that a row can have, in the order of the columns."""
    return (
        *(REQUESTS, *classes, ERROR_CLASS, GENERATOR_ERROR, *SPEED_FIGURES),
        *(*SENDING_FIGURES, *BUDGET_FIGURES, *EVENT_FIGURES),
        *columns_for(event.faults for event in timeline.events),
    )


def samples_by_phase(observed: Observed) -> dict[str, Samples]:
    """Return the samples of each phase, by the moment when they were due; bursts as they are."""
    if observed.timeline.bursts:
        return dict(observed.parts)
    parts = stretches(observed.timeline, observed.spans)
    begins = [part.begin_s for part in parts]
    found = {part.phase: Samples() for part in parts}
    for sample in observed.parts[""]:
        number = max(0, bisect_right(begins, sample.scheduled_s) - 1)
        found[parts[number].phase].add(sample)
    return found


def figures_by_row(observed: Observed) -> dict[str, Figures]:
    """Return the figures of each row of the run.

    `budget_spent` is the share of the whole run's error budget that a row's bad replies took: 1 is
    all of it, and the phases add up to the whole. `worst_second` is the share of good replies
    among those due in the run's worst second, `worst_second_at_s` when that begins; without an
    objective a reply is good if it is no error.
    """
    phases = samples_by_phase(observed)
    whole = Samples()
    for samples in phases.values():
        whole.extend(samples)
    is_good = _goodness(observed.timeline)
    rows: dict[str, Figures] = {name: {} for name in row_names(observed.timeline)}
    lengths_s = _lengths_s(observed)
    for name, samples in (*phases.items(), (WHOLE, whole)):
        rows[name] |= _counts_and_speed(samples, observed.classes, lengths_s.get(name))
        rows[name] |= _spent(observed.timeline, samples, len(whole), is_good)
    rows[WHOLE] |= _worst_second(whole, is_good)
    for name, figures in event_figures(
        observed.timeline, whole, observed.spans, observed.readings, well=observed.classes[0]
    ).items():
        rows[name] |= figures
    return rows


def _lengths_s(observed: Observed) -> dict[str, float]:
    """Return how long requests of an open load fell due, in each phase and in all."""
    timeline = observed.timeline
    if timeline.bursts:
        return {}
    parts = stretches(timeline, observed.spans)
    lengths_s = dict.fromkeys((part.phase for part in parts), 0.0)
    for part, end_s in zip(
        parts, [*(p.begin_s for p in parts[1:]), timeline.duration_s], strict=True
    ):
        lengths_s[part.phase] += max(0.0, end_s - part.begin_s)
    return lengths_s | {WHOLE: timeline.duration_s}


def _counts_and_speed(
    samples: Samples, classes: Sequence[str], scheduled_s: float | None
) -> Figures:
    if not len(samples):
        counts = (*classes, ERROR_CLASS, GENERATOR_ERROR, *SENDING_FIGURES)
        return {REQUESTS: 0, **dict.fromkeys(counts, 0)}
    summary = summarise(samples, classes, scheduled_s=scheduled_s)
    speed = {name: getattr(summary, name, None) for name in SPEED_FIGURES}
    waits_s = [
        None if sent_s is None else sent_s - due_s
        for sent_s, due_s in zip(samples.sent_s, samples.scheduled_s, strict=True)
    ]
    return {
        REQUESTS: summary.requests,
        **summary.counts,
        **{name: value for name, value in speed.items() if value is not None},
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
