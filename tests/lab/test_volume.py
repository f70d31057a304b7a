"""How many requests are announced, and what for."""

from pathlib import Path

import pytest

from lab.run.plan import in_words, plan
from lab.spec.reading import read_experiment
from tests.lab.spec.folder import EXPERIMENT, write_folder

SIZE = "  requests: 200\n  tasks: 4\n"
WITHOUT_BOUNDS = EXPERIMENT[: EXPERIMENT.index("override:")]
RATE = "timeline: {duration: 10 s, rate: 50/s, events: []}\n".replace(", events: []", "")
BURSTS = """\
timeline: {duration: 10 s, bursts: [{at: 0 s, requests: 7}, {at: 5 s}]}
"""


def words(folder: Path, text: str, *, repeats: int | None = None) -> str:
    experiment = read_experiment(write_folder(folder, experiment=text))
    return in_words(experiment, plan(experiment, repeats=repeats))


def test_warm_up_and_steady_state_are_counted_apart(tmp_path: Path) -> None:
    assert words(tmp_path, EXPERIMENT) == (
        "8 cells, 40 measured runs; "
        "8608 requests: 7040 measured, 1408 in warm-up, 160 in the steady state"
    )
    assert words(tmp_path, EXPERIMENT, repeats=1).startswith("8 cells, 8 measured runs; 2976 req")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("steady_state: none\n", "2720 requests: 2720 measured"),
        (
            "steady_state: {requests: 500}\n",
            "6720 requests: 2720 measured, 4000 in the steady state",
        ),
    ],
)
def test_of_a_steady_state_as_many_as_the_file_says_are_counted(
    tmp_path: Path, line: str, says: str
) -> None:
    text = WITHOUT_BOUNDS.replace("warmup: 1\nrepeats: 5\n", "repeats: 2\n" + line)
    text = text.replace("requests: 200", "requests: 170")

    assert words(tmp_path, text) == f"8 cells, 16 measured runs; {says}"


def test_what_is_sent_for_a_time_is_told_of_in_words(tmp_path: Path) -> None:
    text = WITHOUT_BOUNDS.replace(SIZE, "  for: 1 s\n  tasks: 4\n")
    both = f"{text}override: [{{client: raw, requests: 10}}]\n"
    fitting = "as many as fit into the loads that last for a time"

    assert words(tmp_path, text) == (
        f"8 cells, 40 measured runs; at least 160 requests: 160 in the steady state, {fitting}"
    )
    assert words(tmp_path, both) == (
        "8 cells, 40 measured runs; at least 400 requests: 200 measured, 40 in warm-up, "
        f"160 in the steady state, {fitting}"
    )


@pytest.mark.parametrize(
    ("size", "timeline", "says"),
    [("", RATE, "2080 requests: 2000"), (SIZE, BURSTS, "908 requests: 828")],
)
def test_a_timeline_has_a_steady_state_before_each_run(
    tmp_path: Path, size: str, timeline: str, says: str
) -> None:
    text = WITHOUT_BOUNDS.replace(SIZE, size).replace("warmup: 1\n", "")
    text = text[: text.index("faults:")] + timeline

    assert words(tmp_path, text, repeats=2) == (
        f"a timeline of 10 s, 0 events, 4 runs; {says} measured, 80 in the steady state"
    )
