"""Each fault as an independent client sees it come and go: a bare socket, a real server."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.chaos.patient import PULSE, STREAM
from tests.chaos.raw_client import Connection, Heard, ask, put_on, take_off
from tests.service_process import service

pytestmark = pytest.mark.integration

SOON_S = 20.0  # an end that happens at once, however busy the machine; the faults last longer
COARSE_S = 0.002  # the server's clock has steps of a millisecond
NO_TEXT = range(0x80, 0xC0)
Check = Callable[[Heard], bool]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with service("tests.chaos.patient") as patient:
        yield httpx.URL(patient.url).port or 0
        _, log = patient.stop()
        assert log == "", "a fault that was asked for is no error of the service"


@pytest.fixture(autouse=True)
def _well_afterwards(port: int) -> Iterator[None]:
    yield
    take_off(port)


def is_well(heard: Heard) -> bool:
    return (heard.status, heard.body, heard.mark) == (200, PULSE, None)


def is_garbage(heard: Heard) -> bool:
    length = int(heard.headers["content-length"])
    return length == len(PULSE) == len(heard.body) and set(heard.body) <= set(NO_TEXT)


def is_half(heard: Heard) -> bool:
    promised = int(heard.headers["content-length"])
    return heard.is_closed and promised == len(PULSE) and heard.body == PULSE[: promised // 2]


def is_dripped(heard: Heard) -> bool:
    shares = [len(piece) for piece in heard.pieces[1:]]
    return heard.body == PULSE and heard.seconds >= 0.7 - 7 * COARSE_S and set(shares) == {1}


def is_empty(heard: Heard) -> bool:
    head = (heard.status, heard.headers["content-type"], heard.headers["content-length"])
    return head == (200, "application/json", "0")


SIGHTS: dict[str, tuple[dict[str, object], str, Check]] = {
    "failure": ({"failure": 1}, "failure", lambda it: it.status == 500),
    "status": ({"failure": 1, "status": 418}, "failure", lambda it: it.status == 418),
    "failFirst": ({"failFirst": 1}, "failFirst", lambda it: it.status == 500),
    "retryAfterS": (
        {"failure": 1, "retryAfterS": 7},
        "failure",
        lambda it: it.headers["retry-after"] == "7",
    ),
    "delayMs": ({"delayMs": 200}, "delay", lambda it: it.seconds >= 0.2 - COARSE_S),
    "jitterMs": (
        {"delayMs": 200, "jitterMs": 100, "seed": 1},
        "delay",
        lambda it: 0.1 - COARSE_S <= it.seconds <= 0.3 + SOON_S,
    ),
    "flapS": ({"failure": 1, "flapS": 60}, "failure", lambda it: it.status == 500),
    "match": ({"failure": 1, "match": {"path": "/pu"}}, "failure", lambda it: it.status == 500),
    "drip": ({"body": "drip"}, "body=drip", is_dripped),
    "truncate": ({"body": "truncate"}, "body=truncate", is_half),
    "garbage": ({"body": "garbage"}, "body=garbage", is_garbage),
    "empty": ({"body": "empty"}, "body=empty", is_empty),
    "all at once": (
        {"delayMs": 200, "failure": 1, "body": "empty"},
        "delay, failure, body=empty",
        lambda it: (it.status, it.body) == (500, b"") and it.seconds >= 0.2 - COARSE_S,
    ),
}


@pytest.mark.parametrize("sight", SIGHTS.values(), ids=SIGHTS)
def test_a_fault_is_seen_is_named_and_ends(
    port: int, sight: tuple[dict[str, object], str, Check]
) -> None:
    document, mark, check = sight
    put_on(port, **document)

    sick = ask(port, "GET", "/pulse")
    take_off(port)

    assert sick.mark == mark
    assert check(sick)
    assert is_well(ask(port, "GET", "/pulse"))


@pytest.mark.parametrize("kind", ["drip", "garbage", "empty"])
def test_a_spoilt_body_leaves_its_connection_usable(port: int, kind: str) -> None:
    with Connection.to(port) as connection:
        put_on(port, body=kind)
        assert connection.ask("GET", "/pulse").mark == f"body={kind}"
        take_off(port)

        assert is_well(connection.ask("GET", "/pulse"))


def test_a_fault_put_on_between_two_requests_of_a_connection_hits_the_next(port: int) -> None:
    with Connection.to(port) as connection:
        assert is_well(connection.ask("GET", "/pulse"))
        put_on(port, failure=1)

        assert connection.ask("GET", "/pulse").status == 500


WAITS: dict[str, tuple[dict[str, object], str]] = {
    "hang": ({"hang": True}, "hang"),
    "delay": ({"delayMs": 60_000, "failure": 1}, "delay"),
    "drip": ({"body": "drip"}, "body=drip"),
}
ENDINGS: dict[str, Callable[[int], object]] = {
    "taken off": take_off,
    "replaced": lambda port: put_on(port, failure=1),
    "lease": lambda port: ask(port, "PATCH", "/chaos?ttlS=0.05"),
}


@pytest.mark.parametrize("waiting", WAITS.values(), ids=WAITS)
@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
def test_who_waits_in_a_fault_is_let_go_with_its_end(
    port: int, waiting: tuple[dict[str, object], str], end: Callable[[int], object]
) -> None:
    document, mark = waiting
    put_on(port, **document, ttlS=60)
    with Connection.to(port) as connection:
        connection.say("GET", "/pulse")
        before = connection.hear(within_s=0.25)
        end(port)
        after = connection.hear(before)

    assert (after.status, after.mark, after.body) == (200, mark, PULSE)
    assert len(before.body) <= 3
    assert after.seconds < SOON_S


def test_a_hang_says_nothing_and_ends_with_its_turn(port: int) -> None:
    put_on(port, hang=True, flapS=2)
    with Connection.to(port) as connection:
        connection.say("GET", "/pulse")

        assert connection.hear(within_s=0.3).raw == b""
        assert connection.hear(within_s=SOON_S).mark == "hang"
        assert is_well(connection.ask("GET", "/pulse"))


def test_flapping_is_on_and_off_by_turns(port: int) -> None:
    put_on(port, failure=1, flapS=0.4)
    turns = list[int | None]()
    with Connection.to(port) as connection:
        while len(turns) < 4:
            status = connection.ask("GET", "/pulse").status
            turns += [status] if turns[-1:] != [status] else []
            time.sleep(0.02)

    assert set(turns) == {500, 200}


@pytest.mark.parametrize(
    ("document", "outcome"),
    [
        ({"hang": True}, "abandoned"),
        ({"delayMs": 60_000}, "abandoned"),
        ({"body": "drip"}, "delayed"),
    ],
)
def test_who_leaves_during_a_fault_is_not_waited_for(
    port: int, document: dict[str, object], outcome: str
) -> None:
    put_on(port, **document, match={"path": "/pulse"})
    before = _stats(port)[outcome]
    with Connection.to(port) as connection:
        connection.say("GET", "/pulse")
        connection.hear(within_s=0.15)
    time.sleep(0.2)

    assert _stats(port)[outcome] - before == 1


def test_many_hang_at_once_and_all_are_let_go(port: int) -> None:
    put_on(port, hang=True)
    with ThreadPoolExecutor(50) as callers:
        asked = [callers.submit(ask, port, "GET", "/pulse") for _ in range(50)]
        while json.loads(ask(port, "GET", "/chaos").body)["touched"] < 50:
            time.sleep(0.02)
        take_off(port)

    assert {(each.result().status, each.result().mark) for each in asked} == {(200, "hang")}


@pytest.mark.parametrize(
    ("method", "path", "is_hit"),
    [
        ("GET", "/pulse", True),
        ("HEAD", "/pulse", False),
        ("POST", "/pulse", False),
        ("GET", "/pulses", True),
        ("GET", "/puls%65", True),
        ("GET", "/Pulse", False),
        ("GET", "/stream", False),
    ],
)
def test_only_matching_requests_are_hit(port: int, method: str, path: str, is_hit: bool) -> None:
    ask(port, "POST", "/chaos?failure=1&match.path=/pulse&match.method=GET")

    assert (ask(port, method, path).mark == "failure") is is_hit


def test_a_reply_without_a_length_is_cut_within_its_first_chunk(port: int) -> None:
    put_on(port, body="truncate")
    heard = ask(port, "GET", "/stream")

    assert (heard.chunks, heard.is_closed, heard.mark) == ([b"ab"], True, "body=truncate")


def test_a_reply_without_a_length_drips_by_chunks_of_one_byte(port: int) -> None:
    put_on(port, body="drip")
    heard = ask(port, "GET", "/stream")

    assert heard.chunks == [bytes([byte]) for byte in b"".join(STREAM)] + [b""]
    assert heard.seconds >= 0.5 - 5 * COARSE_S


def test_a_reply_without_a_length_is_spoilt_by_chunk(port: int) -> None:
    put_on(port, body="garbage")
    heard = ask(port, "GET", "/stream")

    assert [len(chunk) for chunk in heard.chunks] == [4, 2, 0]
    assert set(b"".join(heard.chunks)) <= set(NO_TEXT)


def test_an_emptied_reply_has_a_length_even_if_it_had_none(port: int) -> None:
    put_on(port, body="empty")
    heard = ask(port, "GET", "/stream")

    assert (heard.headers["content-length"], heard.body) == ("0", b"")
    assert "transfer-encoding" not in heard.headers


@pytest.mark.parametrize("kind", ["drip", "truncate", "garbage", "empty"])
@pytest.mark.parametrize(("method", "path"), [("HEAD", "/pulse"), ("GET", "/silent")])
def test_a_reply_without_a_body_has_none_to_spoil(
    port: int, kind: str, method: str, path: str
) -> None:
    put_on(port, body=kind)
    heard = ask(port, method, path)

    assert (heard.mark, heard.body) == (None, b"")
    assert json.loads(ask(port, "GET", "/chaos").body)["touched"] == 0


def test_what_became_of_spoilt_replies_is_counted(port: int) -> None:
    before = _stats(port)
    for kind in ("truncate", "garbage", "empty"):
        put_on(port, body=kind, match={"path": "/pulse"})
        ask(port, "GET", "/pulse")

    assert _stats(port)["spoilt"] - before["spoilt"] == 3


def test_garbage_is_seeded(port: int) -> None:
    def bodies(seed: int) -> list[bytes]:
        put_on(port, body="garbage", seed=seed)
        return [ask(port, "GET", "/pulse").body for _ in range(2)]

    first = bodies(1)
    assert bodies(1) == first
    assert bodies(2) != first
    assert first[0] != first[1]


@pytest.mark.parametrize("document", [{"delayMs": 100}, {"body": "drip"}])
def test_an_upload_survives_a_fault(port: int, document: dict[str, object]) -> None:
    put_on(port, **document)

    assert ask(port, "POST", "/echo", b"abcde").body == b"abcde"


def _stats(port: int) -> dict[str, int]:
    stats: dict[str, int] = json.loads(ask(port, "GET", "/stats").body)
    return stats
