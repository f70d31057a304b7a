"""A fault that touches nothing is no fault that was survived: `lab run` on a real service."""

from pathlib import Path

import pytest

from lab.results.touches import Touches, touch_columns, touch_values, untouched
from lab.spec.fault_documents import ChaosFault, LinkFault
from lab.spec.faults import ProcessFault
from lab.spec.system import Link
from tests.lab.small_experiment import EXPERIMENT, SYSTEM, rows, run_lab, write_experiment

HEAD = EXPERIMENT[: EXPERIMENT.index("  half fail")]
LINK = Link(source="load", target="rates")
CHAOS = ChaosFault(service="rates", document={"failure": 0.3, "match": {"path": "/x"}})
LATE = LinkFault(link=LINK, document={"kind": "latency", "delayMs": 9})
PAUSE = ProcessFault(kind="pause", service="rates")
NAMES = {  # condition -> what its note names
    "no failure": "chaos at rates",
    "no status": "status on load -> rates",
    "no latency": "latency on load -> rates",
}
NOTHING = (
    HEAD
    + """\
  no failure: [{chaos: rates, failure: 0 %}]
  no status: [{link: load -> rates, status: 503, probability: 0 %}]
  no latency: [{link: load -> rates, latency: 200ms, probability: 0 %}]
"""
)


@pytest.mark.integration
def test_faults_of_probability_0_change_nothing_and_each_run_is_marked(tmp_path: Path) -> None:
    file = write_experiment(tmp_path, NOTHING)
    done = run_lab("run", file, "--out", tmp_path / "out", "--repeats", "10")
    latest = tmp_path / "out" / "small" / "latest"
    runs = rows(latest / "runs.csv")
    page = (latest / "table.md").read_text()

    assert done.returncode == 3
    assert len(runs) == 10 * (1 + len(NAMES))
    for run in runs:
        assert (run["requests"], run["USD"], run["error"]) == ("40", "40", "0")
        name = NAMES.get(run["fault"])
        assert run["note"] == (f"the fault touched nothing ({name})" if name else "")
        assert run["touched"] == ("0" if name else "")
    for condition, name in NAMES.items():
        what = f"the fault touched nothing ({name})".replace(">", "\\>")
        assert f"- {condition} / direct: runs that do not count: 10; {what}" in page


@pytest.mark.integration
@pytest.mark.parametrize(
    ("faults", "note"),
    [
        (
            "[{chaos: rates, failure: 100 %, match: {path: /typo, method: GET}}]",
            "chaos at rates, match path /typo method GET",
        ),
        (
            "[{link: load -> rates, status: 503, match: {path: /typo}}]",
            "status on load -> rates, match path /typo",
        ),
        ("[{link: load -> rates, limit: 1 MiB}]", "limit on load -> rates"),
        ("[{link: load -> rates, latency: 0ms}]", "latency on load -> rates"),
        ("[{link: load -> rates, drip: 1 MiB}]", "drip on load -> rates"),
        (
            "[{chaos: rates, failure: 30 %}, {link: load -> rates, reset: true, after: 9 min}]",
            "reset on load -> rates",
        ),
    ],
    ids=["chaos match", "link match", "limit", "no latency", "drip", "one of two"],
)
def test_a_fault_that_met_nothing_is_named(tmp_path: Path, faults: str, note: str) -> None:
    file = write_experiment(tmp_path, f"{HEAD}  sick: {faults}\n")
    only = ("--only", "fault=sick", "--repeats", "1")
    done = run_lab("run", file, "--out", tmp_path / "out", *only)
    [run] = rows(tmp_path / "out" / "small" / "latest" / "runs.csv")

    assert run["note"] == f"the fault touched nothing ({note})"
    assert done.returncode == 3


@pytest.mark.integration
def test_a_fault_of_http_on_a_link_that_speaks_redis_touches_nothing(tmp_path: Path) -> None:
    system = (
        SYSTEM
        + """\
  redis: {backing: redis}
  front:
    run: "{python} -m front --port {port}"
    ready: /health
    needs: [redis, rates]
    env: {RATES_URL: "{rates.url}", REDIS_URL: "{redis.url}"}
"""
    )
    sick = HEAD.replace("{rates.url}/rates/USD", "{front.url}/convert?from=USD&amount=100")
    sick = sick.replace("{json: code, classes: [USD]}", "{json: source, classes: [fresh, stale]}")
    file = write_experiment(
        tmp_path, sick + "  sick: [{link: front -> redis, status: 503}]\n", system
    )
    only = ("--only", "fault=sick", "--repeats", "1")
    done = run_lab("run", file, "--out", tmp_path / "out", *only)
    [run] = rows(tmp_path / "out" / "small" / "latest" / "runs.csv")

    assert run["note"] == "the fault touched nothing (status on front -> redis)"
    assert done.returncode == 3


@pytest.mark.integration
def test_what_each_fault_touched_stands_beside_what_was_asked_for(tmp_path: Path) -> None:
    two = (
        HEAD
        + "  both: [{chaos: rates, failure: 50 %, fail_first: 10, delay: 1ms}, "
        + "{link: load -> rates, latency: 2ms, probability: 100 %}]\n"
    )
    file = write_experiment(tmp_path, two.replace("warmup: 1", "warmup: 0"))
    only = ("--only", "fault=both", "--repeats", "2")
    done = run_lab("run", file, "--out", tmp_path / "out", *only)
    latest = tmp_path / "out" / "small" / "latest"
    first, second = rows(latest / "runs.csv")
    requests = [row for row in rows(latest / "requests.csv.gz") if row["repeat"] == "2"]
    page = (latest / "table.md").read_text()
    [summary] = rows(latest / "summary.csv")

    assert done.returncode == 0, done.stderr
    assert (first["touched"], second["touched"]) == ("40", "40")  # all are late
    failed = sum("failure" in row["x_chaos"] for row in requests)
    assert float(second["share_hit"]) == failed / 40
    assert (second["share_asked"], second["share_asked_2"]) == ("0.5", "")
    assert second["touched_2"] == "4"  # connections, one a task
    assert summary["touched"] == "40"
    assert float(summary["share_hit_min"]) <= float(summary["share_hit_max"])
    assert "| both | direct | chaos at rates | 40 | " in page
    assert "| both | direct | latency on load -\\> rates | 4 |  |  |" in page
    assert "What the faults touched" in done.stdout


COUNTING = """\
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from chaos import ChaosMiddleware

served = 0

async def order(request):
    global served
    served += 1
    return JSONResponse({"state": "ok"})

async def counters(request):
    return JSONResponse({"ok": served})

routes = [Route("/order", order, methods=["POST"]), Route("/counters", counters)]
app = ChaosMiddleware(Starlette(routes=routes), enabled=True)
uvicorn.run(app, port=int(sys.argv[1]), log_level="error")
"""
COUNTING_SYSTEM = """\
services:
  api:
    run: "{python} PROGRAM {port}"
    ready: /counters
    chaos: /chaos
    counts: {path: /counters, json: [ok]}
"""
COUNTING_EXPERIMENT = """\
title: A fault that no request of the load meets
system: system.yaml
load: {request: "POST {api.url}/order", requests: 20, tasks: 2}
outcome: {json: state, classes: [ok]}
clients: {direct: {}}
repeats: 2
faults:
  only GET: [{chaos: api, failure: 100 %, match: {method: GET}}]
  all: [{chaos: api, delay: 1ms}]
"""


@pytest.mark.integration
def test_the_labs_own_looks_at_counters_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "api.py").write_text(COUNTING)
    system = COUNTING_SYSTEM.replace("PROGRAM", str(tmp_path / "api.py"))
    file = write_experiment(tmp_path, COUNTING_EXPERIMENT, system)
    run_lab("run", file, "--out", tmp_path / "out", PYTHONPATH=str(Path.cwd()))
    found = rows(tmp_path / "out" / "small" / "latest" / "runs.csv")

    nothing = "the fault touched nothing (chaos at api, match method GET)"
    assert [(run["touched"], run["note"]) for run in found] == [("0", nothing)] * 2 + [
        ("20", "")
    ] * 2


def test_a_run_has_what_was_touched_since_it_began() -> None:
    before = Touches(touched=10, hit=4, met=12)

    assert Touches(touched=15, hit=6, met=20).since(before) == Touches(touched=5, hit=2, met=8)


def test_connections_that_were_open_when_the_run_began_are_in_it() -> None:
    before = Touches(touched=10, hit=10, met=30, standing_touched=2, standing_met=4)
    during = Touches(touched=11, hit=11, met=32).since(before)

    assert during is not None
    assert (during.touched, during.share_hit) == (3, 0.5)


@pytest.mark.parametrize(
    "after", [Touches(touched=3, met=50), Touches(touched=10, met=11)], ids=["touched", "met"]
)
def test_what_was_counted_anew_meanwhile_is_not_known(after: Touches) -> None:
    assert after.since(Touches(touched=10, met=12)) is None
    assert after.since(None) is None


def test_nothing_met_has_no_share() -> None:
    assert Touches(touched=0).share_hit is None


def test_each_fault_that_may_count_has_columns_of_its_own() -> None:
    did = (Touches(touched=3, hit=3, met=10), None, Touches(touched=2, hit=2, met=2))
    values = touch_values((CHAOS, PAUSE, LATE), did)

    assert values == {"touched": 3, "share_hit": 0.3, "share_asked": 0.3, "touched_2": 2}
    assert values.keys() <= set(touch_columns(2))


def test_only_faults_that_are_known_to_have_touched_nothing_are_named() -> None:
    nothing = Touches(touched=0)

    assert untouched((CHAOS, PAUSE, LATE), (nothing, None, nothing)) == (
        "the fault touched nothing (chaos at rates, match path /x; latency on load -> rates)"
    )
    assert untouched((CHAOS, PAUSE), (None, None)) == ""
    assert untouched((CHAOS,), (Touches(touched=1),)) == ""
