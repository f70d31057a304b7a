"""`connections: per_request`: a share of connections is then a share of requests."""

from collections import Counter
from pathlib import Path

import pytest

from tests.lab.small_experiment import SYSTEM, LabProcess, rows, write_experiment

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

ASKED, REQUESTS = 0.3, 200
RESET = f"{{link: load -> rates, reset: true, probability: {ASKED}}}"
TABLE = f"""\
title: Some connections reset
system: system.yaml
load:
  request: GET {{rates.url}}/rates/USD
  requests: {REQUESTS}
  tasks: 4
  connections: HOW
outcome: {{json: code, classes: [USD]}}
clients: {{direct: {{}}}}
faults: {{some reset: [{RESET}]}}
"""
TIMELINE = f"""\
title: Some connections reset, at a rate
system: system.yaml
load: {{request: "GET {{rates.url}}/rates/USD", connections: HOW}}
outcome: {{json: code, classes: [USD]}}
clients: {{direct: {{}}}}
timeline: {{duration: 2 s, rate: 100/s, events: [{{at: 0 s, name: sick, faults: [{RESET}]}}]}}
"""


def errors(folder: Path, experiment: str, how: str) -> int:
    """Return how many of the 200 requests failed, all of them by a reset."""
    path = write_experiment(folder, experiment.replace("HOW", how), SYSTEM)
    done = LabProcess("run", path, "--out", folder, "--seed", "12").finish(200)
    assert done.returncode == 0, done.stderr
    requests = rows(folder / "small" / "latest" / "requests.csv.gz")
    assert len(requests) == REQUESTS
    return Counter(each["outcome"] for each in requests)["error"]


@pytest.mark.parametrize("experiment", [TABLE, TIMELINE], ids=["table", "timeline"])
def test_what_was_asked_for_connections_is_what_requests_get(
    tmp_path: Path, experiment: str
) -> None:
    hit = errors(tmp_path, experiment, "per_request")

    assert hit / REQUESTS == pytest.approx(ASKED, abs=0.1)  # 3 standard deviations of the dice


def test_locust_keeps_no_connection_either(tmp_path: Path) -> None:
    hit = errors(tmp_path, TABLE, "per_request\n  engine: locust\n  workers: 1")

    assert hit / REQUESTS == pytest.approx(ASKED, abs=0.1)


def test_over_kept_connections_nearly_no_request_meets_a_share_of_them(tmp_path: Path) -> None:
    assert errors(tmp_path, TABLE, "kept") <= 10
