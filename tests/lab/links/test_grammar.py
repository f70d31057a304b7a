"""The faults of a link as files write them, held against what the proxy takes."""

import dataclasses
import json
from pathlib import Path
from typing import get_args

import pytest

from fault_proxy.faults.documents import AnyFault
from fault_proxy.faults.wire import read_fault
from lab.spec.fault_documents import LinkFault
from lab.spec.problems import FileError
from lab.spec.reading import read_experiment
from lab.spec.system import Link, read_system
from tests.lab.spec.folder import EXPERIMENT, SYSTEM, write_folder

FAULTS: dict[str, dict[str, object]] = {
    "latency: 200ms, jitter: 50ms, direction: upstream, probability: 30 %, seed: 7": {
        "kind": "latency",
        "delayMs": 200,
        "jitterMs": 50,
        "direction": "upstream",
        "probability": 0.3,
        "seed": 7,
    },
    "bandwidth: 10 KiB/s": {"kind": "bandwidth", "bytesPerS": 10240},
    "slice: 100 B, every: 10 ms": {"kind": "slice", "pieceBytes": 100, "everyMs": 10},
    "black_hole: true, direction: downstream": {"kind": "blackHole", "direction": "downstream"},
    "reset: true": {"kind": "reset"},
    "reset: true, after_bytes: 4 KiB, after: 2 s": {
        "kind": "reset",
        "afterBytes": 4096,
        "afterMs": 2000,
    },
    "refuse: true": {"kind": "refuse"},
    "half_close: true, after_bytes: 0 B": {"kind": "halfClose", "afterBytes": 0},
    "limit: 1.5 KiB, probability: 0.5": {"kind": "limit", "bytes": 1536, "probability": 0.5},
    "corrupt: 1 %, probability: 50 %": {"kind": "corrupt", "share": 0.01, "probability": 0.5},
    "status: 503, retry_after: 2 s, probability: 30 %, match: {path: /rates, method: GET}": {
        "kind": "status",
        "status": 503,
        "retryAfterS": 2,
        "probability": 0.3,
        "match": {"path": "/rates", "method": "GET"},
    },
    "delay: 500ms, jitter: 50ms": {"kind": "delay", "delayMs": 500, "jitterMs": 50},
    "drip: 1 B, every: 100ms": {"kind": "drip", "pieceBytes": 1, "everyMs": 100},
    "truncate: true, keep_bytes: 100 B": {"kind": "truncate", "keepBytes": 100},
    "fail_first: 3, status: 502, retry_after: 1 s": {
        "kind": "failFirst",
        "requests": 3,
        "status": 502,
        "retryAfterS": 1,
    },
}
OF_THE_LAB = {"name", "ttlS"}  # which names no fault and sets the leases itself


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_becomes_the_document_that_the_proxy_takes(tmp_path: Path, text: str) -> None:
    experiment = EXPERIMENT.replace("pause: rates", f"link: front -> rates, {text}")

    read = read_experiment(write_folder(tmp_path, experiment=experiment))

    [fault] = read.conditions[-1].faults
    assert isinstance(fault, LinkFault)
    assert (fault.link, dict(fault.document)) == (
        Link(source="front", target="rates"),
        FAULTS[text],
    )
    assert read.links == (fault.link,)
    read_fault(json.dumps(FAULTS[text]).encode())  # which refuses what it does not know


def test_every_field_of_every_fault_of_the_proxy_can_be_written() -> None:
    written: dict[object, set[str]] = {}
    for document in FAULTS.values():
        written.setdefault(document["kind"], set()).update(document)
    shared = set[str]().union(*written.values())
    for kind in get_args(AnyFault):
        fields = {_camel(field.name) for field in dataclasses.fields(kind)} - OF_THE_LAB
        [name] = get_args(kind.__dataclass_fields__["kind"].type)
        assert fields - {"direction", "probability", "match", "seed"} <= written[name]
        assert fields <= shared


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def test_faults_of_links_go_with_each_other_and_with_all_others(tmp_path: Path) -> None:
    together = (
        "{link: front -> rates, latency: 1s}, "
        "{link: front -> rates, status: 500, probability: 50 %}, "
        "{link: front -> redis, refuse: true}, {link: load -> front, limit: 1 KiB}, {pause: rates}"
    )
    text = EXPERIMENT.replace("{pause: rates}", together)

    experiment = read_experiment(write_folder(tmp_path, experiment=text))

    assert len(experiment.conditions[-1].faults) == 5
    assert [str(link) for link in experiment.links] == [
        "front -> rates",
        "front -> redis",
        "load -> front",
    ]


WITH_URL = """\
services:
  api:
    url: http://127.0.0.1:8080/v1/
    ready: /health
    chaos: /chaos
    attempts: {path: /stats, json: attempts}
"""


def test_a_service_may_be_a_url_that_runs(tmp_path: Path) -> None:
    (tmp_path / "system.yaml").write_text(WITH_URL)

    service = read_system(tmp_path / "system.yaml").service("api")

    assert (service.url, service.ready, service.chaos) == (
        "http://127.0.0.1:8080/v1",
        "/health",
        "/chaos",
    )
    assert service.run is None


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("{pause: api}", 'pause names "api", which is no service that the lab starts'),
        ("{link: api -> api, refuse: true}", 'link begins at "api", which the lab does not start'),
    ],
)
def test_nothing_is_done_to_a_process_that_is_not_the_labs(
    tmp_path: Path, fault: str, says: str
) -> None:
    text = EXPERIMENT.replace("{front.url}", "{api.url}").replace("{pause: rates}", fault)
    text = text.replace("chaos: rates", "chaos: api")

    with pytest.raises(FileError, match=says):
        read_experiment(write_folder(tmp_path, experiment=text, system=WITH_URL))


def test_a_link_to_https_is_refused_for_want_of_a_certificate(tmp_path: Path) -> None:
    text = EXPERIMENT.replace("{front.url}", "{api.url}")
    text = text.replace("{pause: rates}", "{link: load -> api, refuse: true}")
    system = WITH_URL.replace("http:", "https:")
    text = text.replace("chaos: rates", "chaos: api")

    with pytest.raises(FileError, match="for which a proxy has no certificate"):
        read_experiment(write_folder(tmp_path, experiment=text, system=system))


@pytest.mark.parametrize(
    ("fault", "lacks"),
    [
        ("corrupt: 1 %", "it has no fault such as corrupt"),
        ("status: 503", "it has no fault such as status"),
        ("reset: true, after_bytes: 1 KiB", "it has not a reset after a number of bytes"),
        ("latency: 1s, seed: 7", "it has not a seed"),
        ("latency: 1s, probability: 50 %", "it rolls its dice for each direction by itself"),
        ("bandwidth: 10 KiB/s", "its bandwidth is in whole kB a second"),
    ],
)
def test_what_toxiproxy_cannot_do_is_said_before_anything_starts(
    tmp_path: Path, fault: str, lacks: str
) -> None:
    text = EXPERIMENT.replace("pause: rates", f"link: front -> rates, {fault}")
    system = SYSTEM + "toxiproxy: http://127.0.0.1:8474\n"

    with pytest.raises(FileError, match=f"cannot be had of Toxiproxy: {lacks}"):
        read_experiment(write_folder(tmp_path, experiment=text, system=system))
