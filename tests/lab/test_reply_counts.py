"""A service's own counts against the load's, by themselves and in a run."""

from pathlib import Path

import pytest

from lab.run.reply_counts import ReplyCounts, disagreement
from loadgen import Sample, Samples
from tests.lab.small_experiment import rows, run_lab, write_experiment

WELL = ("fresh", 200, "")
SPOILT = ("error", 200, "reply cut short")
LOST = ("error", None, "no complete reply in 1 s")
REFUSED = ("error", 503, "status 503")


def samples_of(*endings: tuple[str, int | None, str]) -> Samples:
    samples = Samples()
    for outcome, status, error in endings:
        samples.add(Sample(0.0, 0.0, 0.1, outcome, status, error))
    return samples


@pytest.mark.parametrize(
    ("endings", "counted", "differs"),
    [
        ((WELL, WELL), 2, False),
        ((WELL, WELL), 3, True),
        ((WELL, WELL), 1, True),
        ((WELL, LOST), 1, False),
        ((WELL, LOST), 2, False),
        ((WELL, LOST), 3, True),
        ((WELL, SPOILT), 2, False),
        ((WELL, REFUSED), 1, False),
        ((WELL, REFUSED), 2, True),
        ((WELL,), -5, False),  # it was started anew
    ],
)
def test_a_count_differs_if_neither_the_samples_nor_a_lost_reply_account_for_it(
    endings: tuple[tuple[str, int | None, str], ...], counted: int, differs: bool
) -> None:
    before = ReplyCounts(service="front", by_class={"fresh": 10, "stale": 4})
    after = ReplyCounts(service="front", by_class={"fresh": 10 + counted, "stale": 4})
    found = disagreement(before, after, [samples_of(*endings)])

    fresh = endings.count(WELL)
    says = f"front counted {counted} fresh replies, the load {fresh}"
    assert found == (says if differs else "")


def test_nothing_is_said_of_a_service_that_does_not_tell() -> None:
    told = ReplyCounts(service="front", by_class={"fresh": 9})

    assert disagreement(None, told, [samples_of(WELL)]) == ""
    assert disagreement(told, None, [samples_of(WELL)]) == ""


MISCOUNTING = """\
import http.server, json, sys

class Twice(http.server.BaseHTTPRequestHandler):
    fresh = 0
    def do_GET(self):
        if self.path == "/go":
            Twice.fresh += 2
        body = json.dumps({"source": "fresh", "fresh": Twice.fresh}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Twice).serve_forever()
"""
SYSTEM = """\
services:
  twice: {run: "{python} PROGRAM {port}", counts: {path: /stats, json: [fresh]}}
"""
EXPERIMENT = """\
title: Counts twice
system: system.yaml
load: {request: "GET {twice.url}/go", requests: 20, tasks: 2}
outcome: {json: source, classes: [fresh]}
clients: {direct: {}}
faults: {none: []}
"""


@pytest.mark.integration
def test_a_run_whose_service_counted_otherwise_is_marked(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text(MISCOUNTING)
    system = SYSTEM.replace("PROGRAM", str(tmp_path / "twice.py"))
    done = run_lab("run", write_experiment(tmp_path, EXPERIMENT, system), "--out", tmp_path)
    [run] = rows(tmp_path / "small" / "latest" / "runs.csv")

    assert run["note"] == "twice counted 40 fresh replies, the load 20"
    assert done.returncode == 3
