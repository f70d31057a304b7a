"""The experiment asks each variant for the call, under the faults of Table 18.4."""

from pathlib import Path

from benchmarks.bakeoff.variants import VARIANTS
from lab.run.plan import plan
from lab.spec.experiment import Experiment
from lab.spec.reading import read_experiment

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


def read(name: str) -> Experiment:
    return read_experiment(EXPERIMENTS / name)


def test_each_variant_is_one_client() -> None:
    asked = [dict(client.query)["with"] for client in read("bakeoff.yaml").clients]

    assert asked == list(VARIANTS)


def test_the_faults_are_those_of_table_18_4() -> None:
    ours, published = read("bakeoff.yaml"), read("table184.yaml")

    assert ours.conditions == published.conditions
    assert len(plan(ours)) == len(VARIANTS) * len(published.conditions)
