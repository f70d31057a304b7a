"""The requests that try the healthy system first: how many, which, and what they prove."""

from collections import Counter
from pathlib import Path

import pytest

from tests.lab.small_experiment import LabProcess, write_experiment

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

SHOP = """\
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.answer({"/": 200, "/moved": 302}.get(self.path.partition("?")[0], 404))
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.answer(201)
    def answer(self, status):
        with open(sys.argv[2], "a") as log:
            log.write(f"{self.command} {self.path} {self.headers['x-who']}\\n")
        self.send_response(status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
"""
START = """\
title: Orders
system: system.yaml
outcome: {header: x-none, classes: [never]}
clients: {buyer: {query: {who: me}, headers: {x-who: me}}}
"""
LOAD = """\
load: {request: "POST {shop.url}/orders", requests: 2, tasks: 1}
"""
TABLE = f"""\
{START.replace("{header: x-none, classes: [never]}", "{status: {ok: 201}}")}{LOAD}faults:
  none: []
"""
TIMELINE = f"""\
{START.replace("{header: x-none, classes: [never]}", "{status: {ok: 201}}")}\
load: {{request: "POST {{shop.url}}/orders"}}
timeline: {{duration: 1 s, rate: 2/s}}
"""
OF_ITS_OWN = 'steady_state: {{request: "GET {{shop.url}}{path}", requests: 5}}\n'
ORDER, TRY = "POST /orders?who=me me", "GET /?who=me me"


def run(folder: Path, experiment: str) -> tuple[int, str, Counter[str]]:
    """Return the exit code, what was said, and what the shop was asked, but for being ready."""
    (folder / "shop.py").write_text(SHOP)
    log = folder / "asked.log"
    system = f'services: {{shop: {{run: "{{python}} {folder}/shop.py {{port}} {log}"}}}}\n'
    lab = LabProcess("run", write_experiment(folder, experiment, system), "--out", folder / "out")
    done = lab.finish(100)
    return done.returncode, done.stderr, Counter(log.read_text().splitlines())


@pytest.mark.parametrize("experiment", [TABLE, TIMELINE], ids=["table", "timeline"])
@pytest.mark.parametrize(
    ("line", "asked", "announced"),
    [
        ("", {ORDER: 22}, "22 requests: 2 measured, 20 in the steady state"),
        (
            "steady_state: {requests: 3}\n",
            {ORDER: 5},
            "5 requests: 2 measured, 3 in the steady state",
        ),
        (
            OF_ITS_OWN.format(path="/"),
            {ORDER: 2, TRY: 5},
            "7 requests: 2 measured, 5 in the steady state",
        ),
        ("steady_state: none\n", {ORDER: 2}, "2 requests: 2 measured"),
    ],
)
def test_what_is_sent_is_what_was_announced(
    tmp_path: Path, experiment: str, line: str, asked: dict[str, int], announced: str
) -> None:
    code, said, found = run(tmp_path, experiment + line)

    assert (code, found) == (0, asked)
    assert f"; {announced}, about " in said.splitlines()[0]
    event = "steady_state.not_tried" if "none" in line else "steady_state.held"
    [latest] = (tmp_path / "out").glob("*/latest/events.jsonl")
    assert latest.read_text().count(event) == 1


@pytest.mark.parametrize(("path", "status"), [("/gone", 404), ("/moved", 302)])
def test_a_request_of_its_own_proves_health_by_any_2xx_and_nothing_else_does(
    tmp_path: Path, path: str, status: int
) -> None:
    """The rule of the experiment is for its load: no reply of a health check need be `fresh`."""
    code, said, found = run(tmp_path, TABLE + OF_ITS_OWN.format(path=path))

    assert (code, found[ORDER]) == (3, 0)
    assert (
        "steady state does not hold before 'none', buyer: 5 of 5 requests to the healthy system "
        f"failed, the first with 'status {status}'"
    ) in said


def test_the_rule_of_the_experiment_judges_the_load_s_own_requests(tmp_path: Path) -> None:
    code, said, found = run(tmp_path, f"{START}{LOAD}faults: {{none: []}}\n")

    assert (code, found[ORDER]) == (3, 20)
    assert "20 of 20 requests to the healthy system failed" in said
