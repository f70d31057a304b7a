"""Who is on when, and what that stretch is called."""

import pytest

from lab.spec.fault_documents import ChaosFault
from lab.spec.phases import Span, phase_names, planned, row_names, stretches
from lab.spec.timeline import Event, Timeline
from loadgen import Stage


def event(name: str, at_s: float, end_s: float) -> Event:
    fault = ChaosFault(service="rates", document={"failure": 0.5})
    return Event(name=name, at_s=at_s, end_s=end_s, faults=(fault,))


def timeline(*events: Event, duration_s: float = 10) -> Timeline:
    stage = Stage(duration_s=duration_s, rate_per_s=1)
    return Timeline(duration_s=duration_s, stages=(stage,), events=events)


@pytest.mark.parametrize(
    ("events", "phases"),
    [
        ((), ["before"]),
        ((event("a", 2, 4),), ["before", "a", "after a"]),
        ((event("a", 0, 4),), ["a", "after a"]),
        ((event("a", 2, 10),), ["before", "a"]),
        ((event("a", 0, 10),), ["a"]),
        ((event("a", 1, 3), event("b", 3, 5)), ["before", "a", "b", "after b"]),
        ((event("a", 1, 6), event("b", 3, 5)), ["before", "a", "a + b", "after a"]),
        ((event("a", 1, 4), event("b", 3, 5)), ["before", "a", "a + b", "b", "after b"]),
        ((event("a", 1, 5), event("b", 1, 5)), ["before", "a + b", "after a + b"]),
    ],
)
def test_a_phase_is_called_by_what_is_on_or_by_what_ended_last(
    events: tuple[Event, ...], phases: list[str]
) -> None:
    assert list(phase_names(timeline(*events))) == phases


def test_rows_are_phases_then_events_that_were_never_alone_then_the_whole() -> None:
    together = timeline(event("a", 1, 5), event("b", 1, 5))

    assert row_names(together) == ("before", "a + b", "after a + b", "a", "b", "whole")


def test_a_fault_that_lingers_counts_to_the_phase_that_ends() -> None:
    slow_start = timeline(event("a", 1, 3), event("b", 3.5, 5))
    spans = {
        "a": Span(asked_s=1.01, on_s=1.02, ending_s=3.0, off_s=3.8),
        "b": Span(asked_s=3.5, on_s=3.6, ending_s=5.0, off_s=5.1),
    }

    found = [(each.phase, each.begin_s) for each in stretches(slow_start, spans)]

    assert found == [
        ("before", 0.0),
        ("a", 1.01),
        ("after a", 3.8),
        ("b", 3.8),  # so that "after a" is empty, as something was on all the time
        ("after b", 5.1),
    ]


def test_as_planned_a_phase_begins_at_its_moment() -> None:
    one = timeline(event("a", 2, 4))
    spans = {each.name: planned(each) for each in one.events}

    assert [each.begin_s for each in stretches(one, spans)] == [0, 2, 4]
