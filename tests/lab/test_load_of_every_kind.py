"""A mix of requests with bodies, at a rate and for a time, on real services."""

from collections import Counter
from pathlib import Path

import pytest

from tests.lab.small_experiment import SYSTEM, LabProcess, rows, write_experiment

pytestmark = pytest.mark.integration

SHOP = """\
import json, os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.answer(200)
    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.answer(429 if order["id"] in os.environ["LIMITED"] else 201)
    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
"""

EXPERIMENT = """\
title: A shop beside the rates service
system: system.yaml
load:
  mix:
    rates: {request: "GET {rates.url}/rates/USD", weight: 2}
    order:
      request: POST {shop.url}/orders
      body: {template: '{"id": "{{id}}"}', values: orders.csv}
  for: 400 ms
  rate: 150/s
outcome: {status: {ok: 2xx, limited: 429}}
clients:
  shop:
    sweep: {limited: {env: shop.LIMITED, values: [none, c]}}
faults:
  half fail: [{chaos: rates, failure: 0.5}]
override:
  - {fault: half fail, repeats: 1}
expect:
  - {request: order, error: 0 %, mean: "< 1 s"}
  - {client: shop limited=c, request: order, limited: ">= 30 %"}
  - {client: shop limited=none, limited: 0 %}
  - {request: rates, error: ">= 10 %"}
"""


@pytest.fixture(scope="module")
def latest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the experiment and return its result folder."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.py").write_text(SHOP)
    (folder / "orders.csv").write_text("id\na\nb\nc\n")
    shop = f'  shop: {{run: "{{python}} {folder}/shop.py {{port}}", ready: /}}\n'
    path = write_experiment(folder, EXPERIMENT, SYSTEM + shop)
    done = LabProcess("run", path, "--out", folder / "out").finish()
    assert done.returncode == 0, done.stderr
    assert "All 8 checks of expectations hold." in done.stdout
    assert done.stderr.startswith(
        "2 cells, 2 measured runs; 160 requests: 120 measured, 40 in the steady state, about 4 s\n"
    )
    return folder / "out" / "small" / "latest"


def test_an_open_load_sends_what_its_rate_and_time_come_to(latest: Path) -> None:
    for run in rows(latest / "runs.csv"):
        assert (run["requests"], run["tasks"], run["asked_per_s"]) == ("60", "", "150.0")
        assert int(run["ok"]) + int(run["limited"]) + int(run["error"]) == 60


def test_each_request_of_a_mix_has_columns_of_its_own(latest: Path) -> None:
    run, cell = rows(latest / "runs.csv")[1], rows(latest / "summary.csv")[1]

    assert (run["rates.requests"], run["order.requests"]) == ("40", "20")
    assert int(run["order.ok"]) + int(run["order.limited"]) == 20
    assert int(run["rates.error"]) == int(run["error"])
    assert float(run["order.mean_ms"]) > 0
    assert float(cell["order.mean_ms"]) == float(run["order.mean_ms"])


def test_every_failed_request_names_the_fault_that_hit_it(latest: Path) -> None:
    requests = [row for row in rows(latest / "requests.csv.gz") if "=c" in row["client"]]

    assert Counter(row["name"] for row in requests) == {"rates": 40, "order": 20}
    hit = {(row["name"], row["outcome"], row["x_chaos"]) for row in requests}
    assert hit == {
        ("rates", "ok", ""),
        ("rates", "error", "failure"),
        ("order", "ok", ""),
        ("order", "limited", ""),
    }


def test_a_sweep_runs_each_setting_on_services_that_were_told_it(latest: Path) -> None:
    cells = rows(latest / "sweep.csv")

    assert [(cell["sweep"], cell["limited"], cell["limited_share"]) for cell in cells] == [
        ("shop", "none", "0"),
        ("shop", "c", "0.1"),
    ]
    assert "What each setting of shop buys and costs" in (latest / "table.md").read_text()
