"""The HTTP API of a running lab, as another program sees it."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.lab.up.running_lab import RunningLab, until

pytestmark = pytest.mark.integration


def test_the_status_has_every_field_that_the_contract_names(lab: RunningLab) -> None:
    lab.ask("POST", "/faults", json={"chaos": "rates", "delayMs": 1, "for": "1 min"})
    status = lab.ask("GET", "/status").json()
    [service], [fault] = status["services"], status["faults"]

    assert set(status) == {"system", "file", "pid", "since", "services", "links", "faults"}
    assert status["pid"] == lab.process.process.pid
    assert set(service) == {
        *("name", "state", "url", "ready", "chaos", "pid", "exitCode", "breaker"),
    }
    assert service["chaos"] == service["url"] + "/chaos"
    assert service["breaker"] is None  # it has none
    assert set(fault) == {
        *("id", "kind", "service", "fields", "since", "until", "leftS", "leaseS", "on", "touched"),
    }
    assert fault["since"] < fault["until"]
    assert fault["since"].endswith("Z")
    assert 50 < fault["leftS"] <= 60


def test_a_fault_is_made_and_deleted_as_a_resource(lab: RunningLab) -> None:
    made = lab.ask("POST", "/faults", json={"pause": "rates"})
    assert (made.status_code, made.json()["kind"], made.json()["on"]) == (201, "pause", True)
    assert lab.service("rates")["state"] == "paused"

    gone = lab.ask("DELETE", f"/faults/{made.json()['id']}")
    assert (gone.status_code, gone.json()["on"]) == (200, False)
    assert lab.service("rates")["state"] == "running"
    assert lab.ask("DELETE", f"/faults/{made.json()['id']}").status_code == 404


def test_a_chaos_fault_takes_the_place_of_the_one_before(lab: RunningLab) -> None:
    for failure in (0.2, 0.4):
        lab.ask("POST", "/faults", json={"chaos": "rates", "failure": failure})

    assert [fault["fields"] for fault in lab.faults()] == [{"failure": 0.4}]


def test_a_fault_that_ends_by_itself_gives_a_stopped_service_back(lab: RunningLab) -> None:
    lab.ask("POST", "/faults", json={"stop": "rates", "for": "300ms"})
    assert lab.service("rates")["state"] == "stopped"
    assert until(lambda: lab.faults() == [])
    assert lab.service("rates")["state"] == "running"


TITLES = {
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    413: "Content Too Large",
    422: "Unprocessable Content",
}


@pytest.mark.parametrize(
    ("request_line", "body", "status", "says"),
    [
        ("POST /faults", "{", 422, "body: not JSON"),
        ("POST /faults", "[" * 5000, 422, "body: not JSON"),
        ("POST /faults", "[]", 422, "body: must be a JSON object"),
        ("POST /faults", '{"pause": null}', 422, "pause must be text, got nothing"),
        ("POST /faults", '{"pause": {"a": [1]}}', 422, "pause must be text, got a mapping"),
        ("POST /faults", '{"pause": "rates", "for": "0s"}', 422, "for must be more than 0"),
        ("POST /faults", '{"pause": "rates", "for": [1]}', 422, "for must be a duration"),
        ("POST /faults", '{"chaos": "rates", "failure": true}', 422, "failure must be a share"),
        ("POST /faults", '{"x": "' + "x" * 70_000 + '"}', 413, "at most 65536 bytes"),
        (
            "POST /faults",
            '{"pause": "rates", "pause": "front"}',
            422,
            "pause: given more than once",
        ),
        ("POST /services/rates/paus", "", 404, 'no verb "paus"; did you mean "pause"?'),
        ("POST /services/ratse/pause", "", 404, 'did you mean "rates"?'),
        ("POST /services/rates/resume", "", 409, "rates is not paused but running"),
        ("GET /services/rates/logs?from=-1", "", 422, "from must be a position"),
        ("DELETE /faults/f0", "", 404, "no fault 'f0' is on; on now: none"),
        ("GET /nothing", "", 404, "Not Found"),
        ("PUT /status", "", 405, "Method Not Allowed"),
    ],
)
def test_what_is_refused_is_a_problem_with_one_line(
    lab: RunningLab, request_line: str, body: str, status: int, says: str
) -> None:
    answer = lab.ask(*request_line.split(), content=body)

    assert answer.status_code == answer.json()["status"] == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["title"] == TITLES[status]
    detail = answer.json().get("detail", answer.json()["title"])
    assert says in detail
    assert "\n" not in detail
    assert lab.faults() == []


def test_two_faults_on_one_process_are_refused_with_the_one_that_is_on(lab: RunningLab) -> None:
    first = lab.ask("POST", "/faults", json={"pause": "rates"}).json()
    second = lab.ask("POST", "/faults", json={"stop": "rates"})

    assert second.status_code == 409
    assert f"which is on at rates ({first['id']})" in second.json()["detail"]


def test_a_fault_that_cannot_be_put_on_leaves_nothing_behind(lab: RunningLab) -> None:
    lab.ask("POST", "/services/rates/stop")
    answer = lab.ask("POST", "/faults", json={"chaos": "rates", "failure": 1})

    assert answer.status_code == 503
    assert "does not answer" in answer.json()["detail"]
    assert [fault["kind"] for fault in lab.faults()] == ["stop"]


def test_a_log_is_read_in_parts_without_gap_or_overlap(lab: RunningLab) -> None:
    whole = lab.ask("GET", "/services/rates/logs?from=0").json()
    first_line = whole["text"].index("\n") + 1
    rest = lab.ask("GET", f"/services/rates/logs?from={first_line}").json()

    assert whole["text"][:first_line] + rest["text"] == whole["text"]
    assert rest["next"] == whole["next"] == len(whole["text"].encode())
    assert lab.ask("GET", f"/services/rates/logs?from={whole['next'] + 9}").json()["text"] == ""


def test_the_journal_has_each_fault_with_its_end(lab: RunningLab) -> None:
    fault = lab.ask("POST", "/faults", json={"pause": "rates"}).json()
    lab.ask("DELETE", f"/faults/{fault['id']}")
    events = [json.loads(line) for line in (lab.out / "events.jsonl").read_text().splitlines()]

    assert [event["event"] for event in events if event.get("id") == fault["id"]] == [
        "fault.applied",
        "fault.reverted",
    ]


def test_two_restarts_at_once_follow_each_other(lab: RunningLab) -> None:
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: lab.ask("POST", "/services/rates/restart"), range(2)))

    assert [answer.status_code for answer in answers] == [200, 200]
    assert len({answer.json()["pid"] for answer in answers}) == 2
    assert lab.service("rates")["pid"] in {answer.json()["pid"] for answer in answers}
