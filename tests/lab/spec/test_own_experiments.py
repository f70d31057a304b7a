"""Golden: what the experiments of the repository say, value by value, does not change unseen."""

import json
from pathlib import Path

import pytest

from lab.results.manifest import plain
from lab.spec.reading import read_experiment

ROOT = Path(__file__).parents[3]
GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))


def test_each_experiment_of_the_repository_is_in_the_golden_file() -> None:
    assert sorted(GOLDEN) == sorted(each.name for each in (ROOT / "experiments").glob("*.yaml"))


@pytest.mark.parametrize("name", GOLDEN)
def test_an_experiment_means_what_it_meant(name: str) -> None:
    found = json.dumps(plain(read_experiment(ROOT / "experiments" / name)))

    assert json.loads(found.replace(str(ROOT), "ROOT")) == GOLDEN[name]
