"""The `timeline` of an experiment file, right and wrong."""

from pathlib import Path

import pytest

from lab.spec.expectations import Expectation
from lab.spec.experiment import Experiment
from lab.spec.fault_documents import ChaosFault
from lab.spec.faults import ProcessFault
from lab.spec.problems import FileError
from lab.spec.reading import read_experiment
from lab.spec.timeline import Burst, Event, Objective, Timeline
from loadgen import Stage
from tests.lab.spec.folder import write_folder

TEXT = """\
title: Over time
system: system.yaml
load: {request: "GET {front.url}/convert?from=USD&amount=100"}
outcome: {json: source, classes: [fresh, stale]}
clients: {resilient: {}}
timeline:
  duration: 30 s
  rate: 50/s
  events:
    - {at: 20 s, for: 3 s, faults: [{pause: rates}]}
    - {at: 10 s, for: 8 s, name: half fail, faults: [{chaos: rates, failure: 0.5}]}
expect:
  - {phase: half fail, error: 0 %}
"""
LOAD = 'load: {request: "GET {front.url}/convert", requests: 100, tasks: 4}'
BURSTS = "bursts: [{at: 5 s, name: later, requests: 7}, {at: 0 s, name: first}]"


def read(folder: Path, text: str) -> Experiment:
    return read_experiment(write_folder(folder, experiment=text))


def timeline(folder: Path, replace: str, by: str) -> Timeline:
    assert TEXT.count(replace) == 1
    found = read(folder, TEXT.replace(replace, by)).timeline
    assert found is not None
    return found


def test_a_timeline_is_read_with_its_events_in_order(tmp_path: Path) -> None:
    experiment = read(tmp_path, TEXT)

    assert experiment.conditions == ()
    assert (experiment.load.requests, experiment.load.tasks) == (1500, 1000)
    assert experiment.timeline == Timeline(
        duration_s=30,
        stages=(Stage(duration_s=30, rate_per_s=50),),
        events=(
            Event(
                name="half fail",
                at_s=10,
                end_s=18,
                faults=(ChaosFault(service="rates", document={"failure": 0.5}),),
            ),
            Event(
                name="pause rates",
                at_s=20,
                end_s=23,
                faults=(ProcessFault(kind="pause", service="rates"),),
            ),
        ),
    )


def test_an_event_without_an_end_lasts_as_long_as_the_timeline(tmp_path: Path) -> None:
    assert timeline(tmp_path, ", for: 3 s", "").events[1].end_s == 30


@pytest.mark.parametrize(
    ("written", "stages"),
    [
        ("50/s", [(30, 50, None)]),
        ("300/min", [(30, 5, None)]),
        ("10/s to 100/s", [(30, 10, 100)]),
        ("[{for: 10 s, rate: 0/s to 60/min}, {for: 20 s, rate: 1/s}]", [(10, 0, 1), (20, 1, None)]),
    ],
)
def test_a_rate_is_constant_or_a_ramp_or_a_list_of_both(
    tmp_path: Path, written: str, stages: list[tuple[float, float, float | None]]
) -> None:
    found = timeline(tmp_path, "rate: 50/s", f"rate: {written}")

    assert found.stages == tuple(
        Stage(duration_s=length, rate_per_s=first, end_rate_per_s=last)
        for length, first, last in stages
    )


def test_a_burst_has_the_loads_size_where_it_has_none_of_its_own(tmp_path: Path) -> None:
    text = TEXT.replace("rate: 50/s", BURSTS)
    text = text.replace(text.splitlines()[2], LOAD)

    found = read(tmp_path, text).timeline

    assert found is not None
    assert found.bursts == (
        Burst(name="first", at_s=0, requests=100, tasks=4),
        Burst(name="later", at_s=5, requests=7, tasks=4),
    )


@pytest.mark.parametrize(
    ("written", "objective"),
    [
        ("99 %", Objective(share=0.99, classes=("fresh", "stale"))),
        (
            "{share: 95 %, of: [fresh], within: 500ms}",
            Objective(share=0.95, classes=("fresh",), within_s=0.5),
        ),
    ],
)
def test_an_objective_says_which_replies_are_good(
    tmp_path: Path, written: str, objective: Objective
) -> None:
    found = timeline(tmp_path, "  rate: 50/s", f"  rate: 50/s\n  objective: {written}")

    assert found.objective == objective


def test_an_expectation_may_bound_what_only_a_timeline_has(tmp_path: Path) -> None:
    bounds = '{phase: pause rates, recovered: "< 6 s", budget_spent: "<= 150 %", not_sent: 0}'

    experiment = read(tmp_path, TEXT.replace("{phase: half fail, error: 0 %}", bounds))

    assert experiment.expectations == (
        Expectation(figure="recovered_ms", comparison="<", value=6000, fault="pause rates"),
        Expectation(
            figure="budget_spent", comparison="<=", value=1.5, is_share=True, fault="pause rates"
        ),
        Expectation(figure="not_sent", comparison="==", value=0, fault="pause rates"),
    )


@pytest.mark.parametrize(
    ("replace", "by", "says"),
    [
        (
            "  rate: 50/s\n",
            "",
            "7:3: timeline must have either rate or bursts, got neither; write e.g. rate: 50/s",
        ),
        (
            "rate: 50/s",
            "rate: 50",
            '8:9: rate must say its unit, got "50"; write 50/s',
        ),
        (
            "rate: 50/s",
            "rate: 50/d",
            '8:9: rate has the unknown unit "d" in "50/d"; write one of /s, /min, /h',
        ),
        (
            "rate: 50/s",
            "rate: [{for: 10 s, rate: 5/s}]",
            "8:9: rate lasts 10 s in all, and the duration is 30 s; make them the same",
        ),
        (
            "rate: 50/s",
            "rate: 0/s",
            '8:9: rate must be more than 0 at one end, got "0/s"; write e.g. rate: 50/s',
        ),
        (
            "at: 20 s",
            "at: 31 s",
            (
                '10:12: at must be before the end of the timeline at 30 s, got "31 s"; '
                "write e.g. at: 10 s"
            ),
        ),
        (
            "for: 3 s",
            "for: 11 s",
            (
                '10:23: for must end with the timeline at 30 s, got "11 s" from 20 s; '
                "end it sooner, or leave it out"
            ),
        ),
        (
            "for: 3 s",
            "fur: 3 s",
            '10:18: unknown key "fur"; did you mean "for"?',
        ),
        (
            "[{pause: rates}]",
            "[]",
            (
                "10:36: faults must name at least one fault, got []; "
                "write e.g. faults: [{chaos: rates, failure: 30 %}]"
            ),
        ),
        (
            "name: half fail",
            "name: pause rates",
            '10:5: events has two events called "pause rates"; give each a name of its own',
        ),
        (
            "name: half fail",
            "name: whole",
            '11:34: name uses the name "whole", as a phase is called; choose another name',
        ),
        (
            "for: 8 s",
            "for: 11 s",
            (
                '10:5: events has "pause rates" and "half fail" on "rates" at the same time, where '
                "one would undo the other; end the first before the second begins"
            ),
        ),
        (
            "  rate: 50/s",
            "  rate: 50/s\n  objective: 100 %",
            (
                '9:14: objective must be more than 0 % and less than 100 %, got "100 %"; '
                "100 % would leave no budget; bound error in expect instead"
            ),
        ),
        (
            "  rate: 50/s",
            "  rate: 50/s\n  objective: {share: 99 %, of: [frsh]}",
            '9:33: class names "frsh", which is no outcome class; did you mean "fresh"?',
        ),
        (
            "phase: half fail",
            "phase: half fial",
            '13:13: phase names "half fial", which is no phase; did you mean "half fail"?',
        ),
        (
            "phase: half fail",
            "fault: half fail",
            (
                '13:6: unknown key "fault"; choose one of "phase", "client", "fresh", "stale", '
                '"error", "not_sent", "sent_late", "unwell_after", "mean", "p50", "p95", "p99", '
                '"max", "breaker_opens", "first_unwell", "detected", "first_well", "recovered", '
                '"budget_spent", "worst_second", "requests_per_s", "attempts_per_request"'
            ),
        ),
        (
            "error: 0 %",
            "budget_spent: 3",
            (
                '13:38: budget_spent must be a number of percent, got "3"; '
                'write e.g. budget_spent: "<= 100 %"'
            ),
        ),
        (
            "clients: {resilient: {}}",
            "clients: {resilient: {}}\nwarmup: 1",
            "6:1: warmup does not fit: a timeline has events instead; remove it",
        ),
        (
            'amount=100"}',
            'amount=100", tasks: 4}',
            "3:64: tasks does not fit: the timeline says how much is sent and when; remove it",
        ),
    ],
)
def test_a_wrong_timeline_is_one_line_with_its_place_the_value_and_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace: str, by: str, says: str
) -> None:
    assert TEXT.count(replace) == 1
    write_folder(tmp_path, experiment=TEXT.replace(replace, by))
    monkeypatch.chdir(tmp_path)

    with pytest.raises(FileError) as raised:
        read_experiment(Path("x.yaml"))

    assert str(raised.value) == f"x.yaml:{says}"


EXPERIMENTS = Path(__file__).parents[3] / "experiments"


def test_the_experiment_of_the_chapters_recovery_has_its_eight_figures() -> None:
    experiment = read_experiment(EXPERIMENTS / "recovery.yaml")

    assert [(row.fault, row.figure, row.published) for row in experiment.published] == [
        ("first 100 after failures", "fresh", 97),
        ("first 100 after failures", "stale", 3),
        ("next 100 after failures", "fresh", 100),
        ("next 100 after failures", "stale", 0),
        ("first 100 after restart", "stale", 99),
        ("first 100 after restart", "fresh", 1),
        ("100 after restart 2 s later", "fresh", 100),
        ("100 after restart 2 s later", "stale", 0),
    ]


def test_the_game_day_is_five_faults_in_a_minute() -> None:
    game_day = read_experiment(EXPERIMENTS / "gameday.yaml").timeline

    assert game_day is not None
    assert (game_day.duration_s, len(game_day.events)) == (60, 5)
