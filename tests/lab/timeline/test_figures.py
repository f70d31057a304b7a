"""Figures of a run made by hand: 10 requests a second, each answered 10 ms after it was due."""

import pytest

from lab.results.figures import Observed, figures_by_row, samples_by_row
from lab.results.recovery import Reading
from lab.spec.fault_documents import ChaosFault
from lab.spec.phases import Span
from lab.spec.timeline import WHOLE, Event, Objective, Timeline
from loadgen import Sample, Samples, Stage

CLASSES = ("fresh", "stale")
SICK = Event(
    name="sick",
    at_s=2,
    end_s=5,
    faults=(ChaosFault(service="rates", document={"failure": 1.0}),),
)
SPAN = Span(asked_s=2.0, on_s=2.01, ending_s=5.0, off_s=5.01)


def reply(due_s: float, outcome: str = "fresh", after_s: float = 0.01, **more: float) -> Sample:
    sent_s = due_s + more.get("sent_after_s", 0.0)
    return Sample(due_s, sent_s, due_s + after_s, outcome, 200, "")


def observe(
    *replies: Sample, readings: tuple[Reading, ...] = (), objective: Objective | None = None
) -> Observed:
    """Return a run of 10 s in which each moment without a reply of its own has a fresh one."""
    given = {round(each.scheduled_s, 3) for each in replies}
    moments = [round(number / 10, 3) for number in range(100)]
    samples = Samples()
    for each in [*replies, *(reply(due_s) for due_s in moments if due_s not in given)]:
        samples.add(each)
    timeline = Timeline(
        duration_s=10,
        stages=(Stage(duration_s=10, rate_per_s=10),),
        events=(SICK,),
        objective=objective,
    )
    return Observed(
        row=WHOLE,
        timeline=timeline,
        classes=CLASSES,
        parts={"": samples},
        spans={"sick": SPAN},
        readings=readings,
    )


def stale(*moments: float) -> list[Sample]:
    return [reply(moment, "stale") for moment in moments]


def test_a_request_counts_to_the_phase_in_which_it_was_due() -> None:
    late = reply(4.9, "stale", after_s=3.0)

    phases = samples_by_row(observe(late))

    assert {name: len(samples) for name, samples in phases.items()} == {
        "before": 20,
        "sick": 31,
        "after sick": 49,
    }
    assert figures_by_row(observe(late))["sick"]["max_ms"] == pytest.approx(3000)


def test_what_could_not_be_sent_is_told_apart_from_what_was_sent_late() -> None:
    refused = Sample(3.0, None, 3.3, "error", None, "no free connection in 0.3 s")
    waited = reply(3.1, after_s=0.9, sent_after_s=0.8)

    rows = figures_by_row(observe(refused, waited))

    assert (rows["sick"]["not_sent"], rows["sick"]["sent_late"]) == (1, 1)
    assert (rows["before"]["not_sent"], rows["before"]["sent_late"]) == (0, 0)
    assert rows["sick"]["error"] == 1


def test_the_budget_that_the_phases_spent_adds_up_to_that_of_the_whole() -> None:
    objective = Objective(share=0.9, classes=("fresh",), within_s=0.5)
    bad = [*stale(2.5, 3.0, 7.0), reply(1.0, after_s=0.6)]

    rows = figures_by_row(observe(*bad, objective=objective))

    spent = {name: rows[name]["budget_spent"] for name in ("before", "sick", "after sick")}
    assert spent == pytest.approx({"before": 0.1, "sick": 0.2, "after sick": 0.1})
    assert rows["whole"]["budget_spent"] == pytest.approx(0.4)


def test_the_worst_second_has_the_least_good_replies_and_of_equals_the_longest_wait() -> None:
    errors = [
        Sample(due_s, due_s, due_s + 0.01, "error", 500, "status 500") for due_s in (3.2, 6.2)
    ]
    slow = reply(6.3, after_s=2.0)

    whole = figures_by_row(observe(*errors, slow))["whole"]

    assert whole["worst_second_at_s"] == 6
    assert whole["worst_second"] == pytest.approx(0.9)


def test_a_breaker_detects_when_it_was_first_seen_open() -> None:
    readings = (
        Reading(at_s=0.0, state="closed"),
        Reading(at_s=2.7, state="open"),
        Reading(at_s=4.9, state="half-open"),
        Reading(at_s=4.95, state="open"),
    )

    event = figures_by_row(observe(*stale(2.3), readings=readings))["sick"]

    assert event["breaker_opens_ms"] == event["detected_ms"] == pytest.approx(700)
    assert event["first_unwell_ms"] == pytest.approx(310)


def test_without_a_breaker_the_first_reply_that_is_not_well_detects() -> None:
    event = figures_by_row(observe(*stale(2.3)))["sick"]

    assert event["detected_ms"] == pytest.approx(310)
    assert "breaker_opens_ms" not in event


def test_a_breaker_that_was_open_already_detects_nothing() -> None:
    event = figures_by_row(observe(readings=(Reading(at_s=1.9, state="open"),)))["sick"]

    assert "breaker_opens_ms" not in event
    assert "detected_ms" not in event


def test_it_has_recovered_once_replies_are_as_well_for_a_second_as_before() -> None:
    """Fresh for a moment at 5.3 s, then stale again, then fresh for good from 6.1 s."""
    event = figures_by_row(observe(*stale(5.1, 5.2, 5.9, 6.0)))["sick"]

    assert event["first_well_ms"] == pytest.approx(300)
    assert event["recovered_ms"] == pytest.approx(1100)
    assert event["unwell_after"] == 4


def test_what_never_was_perfect_need_not_become_so() -> None:
    """One of 20 was stale before, so one of any 10 may be afterwards."""
    event = figures_by_row(observe(*stale(1.5, 6.0)))["sick"]

    assert event["recovered_ms"] == pytest.approx(100)


def test_who_is_not_well_for_a_whole_second_has_not_recovered() -> None:
    rows = figures_by_row(observe(*stale(*(5.1 + number / 2 for number in range(10)))))

    assert "recovered_ms" not in rows["sick"]


def test_the_rate_of_a_phase_is_over_the_time_in_which_its_requests_fell_due() -> None:
    found = figures_by_row(observe())

    assert found["whole"]["requests_per_s"] == 10
    assert found["before"]["requests_per_s"] == pytest.approx(10)  # 20 requests in 2 s
    assert found["sick"]["requests_per_s"] == pytest.approx(31 / 3.01)


def test_what_the_generator_could_not_send_is_no_good_reply() -> None:
    found = figures_by_row(observe(reply(7.0, "generator_error")))

    assert found["whole"]["worst_second"] == pytest.approx(0.9)
    assert found["whole"]["generator_error"] == 1
    assert found["whole"]["requests"] == sum(
        found["whole"][name] for name in ("fresh", "stale", "error", "generator_error")
    )
