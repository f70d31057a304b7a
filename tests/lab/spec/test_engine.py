"""Who sends the load, as a file says it."""

from pathlib import Path

import pytest

from lab.spec.load import LocustWorkers
from lab.spec.problems import FileError
from lab.spec.reading import read_experiment
from lab.spec.system import ReplyCounter, read_system
from tests.lab.spec.folder import EXPERIMENT, SYSTEM, write_folder

TIMELINE = """\
title: While it lasts
system: system.yaml
load:
  request: GET {front.url}/convert?from=USD&amount=100
  requests: 100
  tasks: 4
  engine: locust
  workers: 1
outcome: {json: source, classes: [fresh, stale]}
clients: {raw: {}}
timeline:
  duration: 2 s
  bursts: [{at: 0 s, name: all}]
"""


def with_load(keys: str) -> str:
    return EXPERIMENT.replace("  tasks: 4\n", f"  tasks: 4\n{keys}")


@pytest.mark.parametrize(
    ("keys", "workers"),
    [
        ("", None),
        ("  engine: own\n", None),
        ("  engine: locust\n  workers: 2\n", LocustWorkers(here=2)),
        (
            "  engine: locust\n  remote_workers: 3\n  bind: 192.168.1.4:5557\n",
            LocustWorkers(here=0, elsewhere=3, bind_host="192.168.1.4", bind_port=5557),
        ),
        (
            '  engine: locust\n  workers: 1\n  remote_workers: 1\n  bind: "[fd00::4]:5557"\n',
            LocustWorkers(here=1, elsewhere=1, bind_host="fd00::4", bind_port=5557),
        ),
    ],
)
def test_the_engine_is_the_lab_s_own_unless_locust_is_asked_for(
    tmp_path: Path, keys: str, workers: LocustWorkers | None
) -> None:
    assert read_experiment(write_folder(tmp_path, experiment=with_load(keys))).load.locust == (
        workers
    )


def test_locust_has_no_timelines(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="engine: locust has no timelines; leave engine out"):
        read_experiment(write_folder(tmp_path, experiment=TIMELINE))


def test_a_service_tells_which_replies_it_counts(tmp_path: Path) -> None:
    counts = "    counts: {path: /stats, json: [fresh, stale]}\n"
    file = tmp_path / "system.yaml"
    file.write_text(SYSTEM.replace("    attempts:", counts + "    attempts:"))

    assert read_system(file).service("front").counts == ReplyCounter(
        path="/stats", classes=("fresh", "stale")
    )
