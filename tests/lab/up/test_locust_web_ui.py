"""A real Locust with its web UI: who may open it, and what its Chaos page does to real services."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer

import httpx
import pytest

from tests.lab.up.locust_process import RunningLocust, ask, end, locust, start_locust
from tests.service_process import Running, free_port, service
from tests.valkey import valkey

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

LEASE_S = 5.0
PASSWORD = "sesame"  # noqa: S105 - opens a door of this test


@contextmanager
def lab_control(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Answer as a lab does for one service; give the socket's path and the requests that came."""
    seen: list[str] = []
    states = {"pause": "paused", "resume": "running"}

    class Api(BaseHTTPRequestHandler):
        state = "running"

        def do_GET(self) -> None:
            self._answer(200, {"services": [{"name": "rates", "state": Api.state}]})

        def do_POST(self) -> None:
            seen.append(self.path)
            verb = self.path.rpartition("/")[2]
            if verb in states:
                Api.state = states[verb]
                self._answer(200, {"name": "rates", "state": Api.state})
            else:
                self._answer(409, {"detail": "rates is running already"})

        def _answer(self, status: int, document: object) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingUnixStreamServer(str(folder / "lab.sock"), Api) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield str(folder / "lab.sock"), seen
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def rates() -> Iterator[Running]:
    with service("rates_api", CHAOS_ENABLED="true") as running:
        yield running


def eventually(holds: Callable[[], object], *, within_s: float = 45.0) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.1)


def token_of(page: str) -> dict[str, str]:
    found = re.search('name="chaos-token" content="([^"]+)"', page)
    assert found is not None
    return {"X-Chaos-Page": found[1]}


def is_on(rates: Running) -> bool:
    return bool(ask("GET", f"{rates.url}/chaos").json()["on"])


@pytest.mark.parametrize(
    ("flags", "env", "complaint"),
    [
        (["--web-host", "0.0.0.0"], {}, "LOCUST_WEB_PASSWORD"),  # noqa: S104 - it is refused
        ([], {"LAB_CHAOS_URLS": "rates"}, "LAB_CHAOS_URLS is not JSON"),
    ],
)
def test_an_open_door_and_a_wrong_variable_end_locust_with_one_line(
    flags: list[str], env: dict[str, str], complaint: str, tmp_path: Path
) -> None:
    process = start_locust(tmp_path, *flags, "--web-port", str(free_port()), **env)
    try:
        assert process.wait(timeout=30) == 2
    finally:
        errors = end(process)

    assert complaint in errors.splitlines()[-1]
    assert "Traceback" not in errors


def test_with_a_password_no_page_opens_without_it(tmp_path: Path) -> None:
    with (
        locust(tmp_path, LOCUST_WEB_PASSWORD=PASSWORD) as running,
        httpx.Client(base_url=running.url, follow_redirects=True, timeout=10) as client,
    ):
        paths = ["/", "/chaos/", "/chaos/state", "/stats/requests"]
        shut = [client.get(path).url.path for path in paths]
        wrong = client.post("/login/check", data={"username": "me", "password": "open"})
        still_shut = client.get("/chaos/").url.path
        client.post("/login/check", data={"username": "me", "password": PASSWORD})
        opened = [client.get(path).url.path for path in paths]

    assert shut == ["/login"] * len(paths)
    assert "The password is wrong" in wrong.text
    assert still_shut == "/login"
    assert opened == paths


def test_the_page_works_faults_and_processes_of_a_load_spread_over_workers(
    rates: Running, tmp_path: Path
) -> None:
    port = str(free_port())
    flags = ["--master", "--master-bind-host", "127.0.0.1", "--master-bind-port", port]
    with (
        valkey(tmp_path) as redis,
        service("front", RATES_URL=rates.url, REDIS_URL=redis.url) as front,
        lab_control(tmp_path) as (socket, asked),
        locust(
            tmp_path,
            *flags,
            *("--host", front.url, "--stop-timeout", "5"),
            LAB_CHAOS_URLS=json.dumps({"rates": f"{rates.url}/chaos"}),
            LAB_CONTROL=socket,
        ) as master,
    ):
        worker = start_locust(tmp_path, "--worker", "--master-port", port)
        try:
            _counts_each_request_once(master, front)
            _acts_for_its_own_page_only(master, rates, asked)
            _leaves_the_fault_to_its_lease_when_it_dies(master, rates)
        finally:
            end(worker)


def _counts_each_request_once(master: RunningLocust, front: Running) -> None:
    eventually(lambda: ask("GET", f"{master.url}/worker-count").json()["worker_count"] == 1)
    load = {"user_count": "4", "spawn_rate": "4"}
    assert ask("POST", f"{master.url}/swarm", data=load).json()["success"]
    eventually(lambda: _drawn(master) > 20)
    ask("POST", f"{master.url}/stop", timeout=30)
    eventually(lambda: _drawn(master) == ask("GET", f"{front.url}/stats").json()["fresh"])
    rows = ask("GET", f"{master.url}/stats/requests").json()["stats"]
    counts = {row["name"]: row["num_requests"] for row in rows}

    assert counts.keys() == {
        "/convert raw -> fresh",
        "/convert resilient -> fresh",
        "Aggregated",
    }
    assert counts["Aggregated"] == _drawn(master)


def _drawn(master: RunningLocust) -> int:
    seconds = master.state()["seconds"]
    assert isinstance(seconds, list)
    return sum(second["fresh"] + second["stale"] + second["error"] for second in seconds)


def _acts_for_its_own_page_only(master: RunningLocust, rates: Running, asked: list[str]) -> None:
    own = token_of(ask("GET", f"{master.url}/chaos/").text)
    fault_url = f"{master.url}/chaos/services/rates"
    foreign = own | {"Origin": "http://evil.example"}
    assert ask("PUT", fault_url, json={"failure": 1}).status_code == 403
    assert ask("PUT", fault_url, json={"failure": 1}, headers=foreign).status_code == 403
    assert not is_on(rates)

    wrong = ask("PUT", fault_url, json={"failure": 7}, headers=own)
    empty = ask("PUT", fault_url, json={}, headers=own)
    assert (wrong.status_code, empty.status_code) == (422, 422)
    assert "failure" in wrong.json()["detail"]
    assert "touches no reply" in empty.json()["detail"]

    act_url = f"{master.url}/chaos/processes/rates"
    paused = ask("POST", f"{act_url}/pause", headers=own).json()
    refused = ask("POST", f"{act_url}/start", headers=own)
    ask("POST", f"{act_url}/resume", headers=own)
    assert paused["processes"]["services"] == [{"name": "rates", "state": "paused"}]
    assert [each["label"] for each in paused["windows"]] == ["rates paused"]
    assert "rates is running already" in refused.json()["detail"]
    assert asked == [f"/services/rates/{verb}" for verb in ("pause", "start", "resume")]

    state = ask("PUT", fault_url, json={"delayMs": 50}, headers=own).json()
    assert state["services"][0]["words"] == "50 ms delay"
    assert is_on(rates)


def _leaves_the_fault_to_its_lease_when_it_dies(master: RunningLocust, rates: Running) -> None:
    time.sleep(2)
    left_s = ask("GET", f"{rates.url}/chaos").json()["leftS"]
    assert left_s > LEASE_S - 1.9, "its lease was not renewed"
    master.process.kill()
    eventually(lambda: not is_on(rates), within_s=LEASE_S + 1)
