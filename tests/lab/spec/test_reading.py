from pathlib import Path

import pytest

from lab.spec.clients import Client
from lab.spec.expectations import Expectation, Override, PublishedFigure
from lab.spec.fault_documents import ChaosFault
from lab.spec.faults import (
    BurnFault,
    Condition,
    FilesFault,
    FlapFault,
    FlushFault,
    MemoryFault,
    ProcessFault,
    RestartFault,
)
from lab.spec.load import Load, Request
from lab.spec.reading import read_experiment
from lab.spec.system import Counter, read_system
from loadgen import JsonFieldRule, TimeOuts
from tests.lab.spec.folder import EXPERIMENT, SYSTEM, write_folder


def test_an_experiment_is_read_with_its_system_and_its_published_figures(tmp_path: Path) -> None:
    experiment = read_experiment(write_folder(tmp_path))

    assert experiment.name == "x"
    assert experiment.load == Load(
        mix=(Request(method="GET", url="{front.url}/convert?from=USD&amount=100"),),
        requests=200,
        tasks=4,
        time_outs=TimeOuts(connect_s=60, whole_s=60),
    )
    assert (experiment.warmup, experiment.repeats) == (1, 5)
    assert experiment.outcome == JsonFieldRule(json_field="source", classes=("fresh", "stale"))
    assert experiment.clients == (
        Client(name="resilient"),
        Client(name="raw", query={"raw": "true"}),
    )
    assert experiment.conditions == (
        Condition(name="none"),
        Condition(
            name="30 % replies 500",
            faults=(ChaosFault(service="rates", document={"failure": 0.3}),),
        ),
        Condition(
            name="500 ms delay", faults=(ChaosFault(service="rates", document={"delayMs": 500}),)
        ),
        Condition(name="rates stopped", faults=(ProcessFault(kind="pause", service="rates"),)),
    )
    assert experiment.overrides == (Override(fault="rates stopped", client="raw", requests=8),)
    assert experiment.expectations == (
        Expectation(figure="fresh", comparison="==", value=1.0, is_share=True, fault="none"),
    )
    assert experiment.published[1] == PublishedFigure(
        fault="none",
        client="raw",
        figure="mean_ms",
        published=3,
        low=0,
        high=12,
        basis="the machine, four times slower",
    )


def test_services_stand_after_those_that_they_need(tmp_path: Path) -> None:
    write_folder(tmp_path)

    system = read_system(tmp_path / "system.yaml")

    names = [service.name for service in system.services]
    assert sorted(names) == ["front", "rates", "redis"]
    assert names[-1] == "front"
    assert system.service("redis").backing == "redis"
    assert system.service("rates").chaos == "/chaos"
    assert system.service("front").attempts == Counter(path="/stats", json_field="attempts")
    assert system.service("front").env["RATES_URL"] == "{rates.url}"


def test_every_chaos_key_becomes_the_wire_name_and_unit(tmp_path: Path) -> None:
    keys = (
        "failure: 30 %, status: 503, delay: 1.5 s, jitter: 20 ms, fail_first: 3, retry_after: 2 s"
    )
    more = "body: drip, hang: true, flap: 2 s, match: {path: /rates, method: GET}, seed: 7"
    text = EXPERIMENT.replace("failure: 0.3", f"{keys}, {more}")

    experiment = read_experiment(write_folder(tmp_path, experiment=text))

    assert experiment.conditions[1].faults == (
        ChaosFault(
            service="rates",
            document={
                "failure": 0.3,
                "status": 503,
                "delayMs": 1500,
                "jitterMs": 20,
                "failFirst": 3,
                "retryAfterS": 2,
                "body": "drip",
                "hang": True,
                "flapS": 2,
                "match": {"path": "/rates", "method": "GET"},
                "seed": 7,
            },
        ),
    )


def test_every_process_fault_is_read_with_its_units_and_defaults(tmp_path: Path) -> None:
    faults = {
        "{stop: redis}": ProcessFault(kind="stop", service="redis"),
        "{restart: rates}": RestartFault(service="rates"),
        "{flap: rates}": FlapFault(service="rates", down_s=1, up_s=1),
        "{flap: rates, down: 500ms, up: 2 s}": FlapFault(service="rates", down_s=0.5, up_s=2),
        "{burn: rates}": BurnFault(service="rates", cores=None),
        "{burn: rates, cores: 2}": BurnFault(service="rates", cores=2),
        "{memory: rates, size: 1.5 GiB}": MemoryFault(service="rates", mib=1536),
        "{files: rates}": FilesFault(service="rates", spare=0),
        "{files: rates, spare: 5}": FilesFault(service="rates", spare=5),
        "{flush: redis}": FlushFault(service="redis"),
    }
    rows = "".join(f"  row {number}: [{text}]\n" for number, text in enumerate(faults))
    text = EXPERIMENT.replace("  none: []\n", f"  none: []\n{rows}")

    experiment = read_experiment(write_folder(tmp_path, experiment=text))

    assert [each.faults for each in experiment.conditions[1:-3]] == [(f,) for f in faults.values()]


@pytest.mark.parametrize(
    "faults",
    [
        "{chaos: rates, failure: 0.3}, {burn: rates}, {memory: rates, size: 1 MiB}, {files: rates}",
        "{pause: rates}, {burn: rates}, {stop: redis}, {flush: redis}",
    ],
)
def test_faults_that_do_not_touch_each_other_stand_together(tmp_path: Path, faults: str) -> None:
    text = EXPERIMENT.replace("{pause: rates}", faults)

    experiment = read_experiment(write_folder(tmp_path, experiment=text))

    assert len(experiment.conditions[-1].faults) == 4


def test_a_bound_on_each_kind_of_figure_is_in_the_unit_of_its_column(tmp_path: Path) -> None:
    bounds = (
        'fresh: ">= 185", stale: 3, error: "< 1.5 %", mean: "< 5 ms", p95: "<= 1.5 s", '
        'requests_per_s: ">= 1000", attempts_per_request: "<= 1.5"'
    )
    text = EXPERIMENT.replace("fresh: 100 %", bounds)

    experiment = read_experiment(write_folder(tmp_path, experiment=text))

    said = [(e.figure, e.comparison, e.value, e.is_share) for e in experiment.expectations]
    assert said == [
        ("fresh", ">=", 185, False),
        ("stale", "==", 3, False),
        ("error", "<", 0.015, True),
        ("mean_ms", "<", 5, False),
        ("p95_ms", "<=", 1500, False),
        ("requests_per_s", ">=", 1000, False),
        ("attempts_per_request", "<=", 1.5, False),
    ]


def test_a_client_may_change_headers_and_a_services_environment(tmp_path: Path) -> None:
    client = 'resilient: {headers: {x-a: b}, env: {front: {RETRIES: "0", URL: "{rates.url}"}}}'
    text = EXPERIMENT.replace("resilient: {}", client)

    experiment = read_experiment(write_folder(tmp_path, experiment=text))

    assert experiment.clients[0].headers == {"x-a": "b"}
    assert experiment.clients[0].env == {"front": {"RETRIES": "0", "URL": "{rates.url}"}}


def test_words_that_older_yaml_turned_into_booleans_stay_names(tmp_path: Path) -> None:
    text = EXPERIMENT.replace("  none: []", "  off: []").replace("fault: none", "fault: off")
    experiment = read_experiment(write_folder(tmp_path, experiment=text, reference=_header_only()))

    assert experiment.conditions[0].name == "off"


def test_an_experiment_needs_no_reference_override_or_expectation(tmp_path: Path) -> None:
    text = EXPERIMENT[: EXPERIMENT.index("override:")]

    experiment = read_experiment(write_folder(tmp_path, experiment=text, system=SYSTEM))

    assert experiment.reference is None
    assert (experiment.published, experiment.overrides, experiment.expectations) == ((), (), ())


def _header_only() -> str:
    return "fault,client,figure,published,low,high,basis\n"
