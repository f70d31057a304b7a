"""Pure parts of a run: ports, estimate, loads, records."""

import random
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lab.ports import free_port
from lab.results.manifest import plain
from lab.results.record import ResultFolder, Run
from lab.run.loads import with_query
from lab.run.plan import plan
from lab.run.progress import Estimate, in_words
from lab.spec.reading import read_experiment
from tests.lab.runs_file import OUTLINE
from tests.lab.small_experiment import EXPERIMENT, rows, write_experiment
from tests.lab.spec import folder


def test_ports_are_free_distinct_and_below_the_ephemeral_range() -> None:
    taken: set[int] = set()
    for _ in range(50):
        port = free_port(taken, random.Random(4))
        assert 10_000 <= port < 32_768
        assert port not in taken
        taken.add(port)


def test_a_port_in_use_is_passed_over() -> None:
    first = free_port(set(), random.Random(9))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", first))
        listener.listen()

        assert free_port(set(), random.Random(9)) != first


@pytest.mark.parametrize(
    ("url", "query", "expected"),
    [
        ("http://h/p", {}, "http://h/p"),
        ("http://h/p", {"raw": "true"}, "http://h/p?raw=true"),
        ("http://h/p?from=USD", {"raw": "true"}, "http://h/p?from=USD&raw=true"),
        ("http://h/p?a=1", {"b": "x y&z"}, "http://h/p?a=1&b=x+y%26z"),
    ],
)
def test_a_clients_query_is_added_to_the_requests_own(
    url: str, query: dict[str, str], expected: str
) -> None:
    assert with_query(url, query) == expected


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "0 s"), (8, "8 s"), (59.6, "1 min 00 s"), (160, "2 min 40 s")]
)
def test_durations_read_as_people_say_them(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def test_time_left_is_learned_from_the_cells_own_runs(tmp_path: Path) -> None:
    experiment = read_experiment(write_experiment(tmp_path))
    cells = plan(experiment)
    estimate = Estimate(experiment, cells)
    before = estimate.left_s(len(cells) - 1, loads_done=1)
    estimate.add_run(cells[-1], 10.0)

    assert before == pytest.approx(2 * 1.0)
    assert estimate.left_s(len(cells) - 1, loads_done=1) == pytest.approx(2 * 10.0)
    assert estimate.left_s(len(cells) - 1, loads_done=3) == 0


def test_time_left_has_a_steady_state_for_each_cell(tmp_path: Path) -> None:
    text = EXPERIMENT + "steady_state: {requests: 5000}\n"
    experiment = read_experiment(write_experiment(tmp_path, text))
    cells = plan(experiment)
    estimate = Estimate(experiment, cells)
    last_but_one = len(cells) - 2
    without = estimate.left_s(last_but_one, 0)
    estimate.add_steady_state("direct", 30.0)

    assert estimate.left_s(last_but_one, 0) == pytest.approx(without + 30)
    assert estimate.left_s(last_but_one, 0, is_steady=False) == pytest.approx(without + 60)


def test_a_steady_state_takes_as_long_as_published_until_it_is_known(tmp_path: Path) -> None:
    """200 requests by 4 tasks take 3 ms each, in the healthy system with the client `raw`."""
    with_it = folder.EXPERIMENT + "steady_state: {requests: 4000}\n"
    without_it = folder.EXPERIMENT + "steady_state: none\n"
    left_s = []
    for text in (with_it, without_it):
        experiment = read_experiment(folder.write_folder(tmp_path, experiment=text))
        cells = plan(experiment)
        left_s.append(Estimate(experiment, cells).left_s(len(cells) - 1, 0, is_steady=False))

    assert left_s[0] - left_s[1] == pytest.approx(4000 / 4 * 0.003)


def test_results_of_the_same_second_stand_side_by_side(tmp_path: Path) -> None:
    now = datetime(2026, 11, 29, 20, 0, 0, tzinfo=UTC)
    first, second = (ResultFolder.create(tmp_path, "x", now) for _ in range(2))

    assert first.path.name == "20261129T200000Z"
    assert second.path.name == "20261129T200000Z-2"
    assert (tmp_path / "x" / "latest").resolve() == second.path.resolve()


def test_one_attempt_for_ten_million_requests_is_not_none_in_the_file(tmp_path: Path) -> None:
    figures = {"attempts_per_request": 1e-7, "requests_per_s": 0.0004, "mean_ms": 1.23456}
    run = Run(datetime(2026, 11, 29, tzinfo=UTC), "raw", 1)
    ResultFolder(tmp_path).add_run(run, OUTLINE, {"none": figures}, {})

    [row] = rows(tmp_path / "runs.csv")
    assert (float(row["attempts_per_request"]), row["requests_per_s"]) == (1e-7, "0.0004")
    assert row["mean_ms"] == "1.235"


def test_the_manifest_holds_the_whole_experiment_as_json(tmp_path: Path) -> None:
    document = plain(read_experiment(write_experiment(tmp_path)))

    assert document["load"]["requests"] == 40
    assert document["conditions"][1]["faults"][0]["document"] == {"failure": 0.5}
    assert document["path"] == str(tmp_path / "small.yaml")
