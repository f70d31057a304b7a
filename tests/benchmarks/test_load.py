"""The parts of `benchmarks.load` that decide: what tools print, what the wire shows, medians."""

import json
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from benchmarks.load import outputs
from benchmarks.load.capture import Segment, captured, waits_s
from benchmarks.load.reading import Reading, quantile_us
from benchmarks.load.tables import Row, Wire, rows_of, table
from benchmarks.load.target import KINDS, nginx
from benchmarks.load.tools import OURS, TOOLS, YARDSTICKS, Call

WRK = """Running 2s test @ http://127.0.0.1:1/
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    57.00us    5.00us   1.20ms   96.00%
  Latency Distribution
     50%   54.00us
     75%   61.00us
     90%   70.00us
     99%    3.50ms
  88994 requests in 2.01s, 15.62MB read
Requests/sec:  44442.40
"""
HEY = """
Summary:
  Total:\t2.0010 secs
  Requests/sec:\t30000.5

Latency distribution:
  50%% in 0.0001 secs
  99%% in 0.0024 secs

Status code distribution:
  [200]\t60030 responses
"""
AB = """Time taken for tests:   2.000 seconds
Complete requests:      50000
Failed requests:        2
"""
AUTOCANNON = json.dumps({"2xx": 9000, "duration": 2.01, "latency": {"p50": 1, "p99": 4.5}})
CALL = Call(origin="http://127.0.0.1:1", kind="varying", connections=4, duration_s=1)
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", ""))


def reading(per_s: float, *, cpu_us: float = 10.0, p50_us: float = 100.0) -> Reading:
    requests = int(per_s)
    cpu_s = cpu_us * requests / 1e6
    return Reading(requests=requests, duration_s=1, p50_us=p50_us, p99_us=2 * p50_us, cpu_s=cpu_s)


class Server:
    """A server that answers each request, one read for each; its paths are the kinds of replies.

    Attributes:
        port: of the loopback.
        answered: how many replies were sent, from 0.
    """

    def __init__(self, listening: socket.socket) -> None:
        self.port: int = listening.getsockname()[1]
        self.answered = 0
        self._listening = listening
        self._counting = threading.Lock()

    def run(self) -> None:
        """Accept connections until the listening socket is shut down."""
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while request := connection.recv(4096):
                with self._counting:
                    self.answered += 1
                    number = self.answered
                connection.sendall(answer(0 if request.startswith(b"GET /constant ") else number))


def answer(number: int) -> bytes:
    """Return a reply that says a number, in a header and in its body."""
    body = b'{"source":"fresh","id":"%d"}' % number
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    return head + b"X-Request-Id: %d\r\nContent-Length: %d\r\n\r\n%b" % (number, len(body), body)


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that answers until the test ends."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = Server(listening)
        threading.Thread(target=serving.run, daemon=True).start()
        yield serving
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("parse", "output", "expected"),
    [
        (outputs.wrk, WRK, (88994, 2.01, 54, 3500)),
        (outputs.hey, HEY, (60030, 2.001, 100, 2400)),
        (outputs.ab, AB, (49998, 2.0, 27, 1500)),
        (outputs.autocannon, AUTOCANNON, (9000, 2.01, 1000, 4500)),
    ],
)
def test_what_a_tool_prints_is_read_in_seconds_and_microseconds(
    parse: outputs.Parse, output: str, expected: tuple[float, ...], tmp_path: Path
) -> None:
    (tmp_path / outputs.AB_PERCENTILES).write_text(
        "Percentage served,Time in ms\n0,0.01\n50,0.027\n99,1.5\n"
    )
    found = parse(output, tmp_path)

    assert (found.requests, found.duration_s) == expected[:2]
    assert (found.p50_us, found.p99_us) == pytest.approx(expected[2:])


@pytest.mark.parametrize("output", ["", "88994 requests in 2.0s\n Non-2xx or 3xx responses: 3"])
def test_output_that_tells_of_no_good_run_is_an_error(output: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nothing like|errors"):
        outputs.wrk(output, tmp_path)


def test_a_run_without_answers_is_an_error() -> None:
    with pytest.raises(ValueError, match="must have answers"):
        Reading(requests=0, duration_s=1, p50_us=1, p99_us=1)


def test_quantiles_are_of_the_nearest_rank() -> None:
    assert quantile_us([1e-6, 2e-6, 3e-6, 4e-6], 0.5) == pytest.approx(2)
    assert quantile_us([1e-6], 0.99) == pytest.approx(1)


def test_a_wait_on_the_wire_is_from_a_request_to_the_first_segment_of_its_reply() -> None:
    segments = [
        Segment(0.5, 7, is_reply=True),  # its request came before the capture
        Segment(1.0, 7, is_reply=False),
        Segment(1.1, 8, is_reply=False),
        Segment(1.3, 8, is_reply=True),
        Segment(1.4, 8, is_reply=True),  # more of the same reply
        Segment(1.5, 7, is_reply=True),
        Segment(1.6, 7, is_reply=False),  # the capture ended before its reply
    ]
    assert waits_s(segments) == pytest.approx([0.2, 0.5])


def test_ratios_are_of_the_same_round_and_then_the_median() -> None:
    readings = {"a": [reading(50), reading(20), reading(90)], "y": [reading(100)] * 2}
    readings["y"].append(reading(300))
    first, second = rows_of(CALL, readings, {}, ["y", "a"])

    assert first.per_s == 50
    assert first.ratios == pytest.approx({"y": 0.3, "a": 1})
    assert second.ratios == pytest.approx({"y": 1, "a": 300 / 90})
    assert first.cpu_us == pytest.approx(10)


def test_there_are_no_ratios_to_a_yardstick_that_is_not_there() -> None:
    (row,) = rows_of(CALL, {"a": [reading(50)]}, {}, YARDSTICKS)
    assert row.ratios == {}


def test_a_table_has_a_row_per_tool_with_what_was_captured() -> None:
    wire = Wire(p50_us=1, p99_us=2, said_p50_us=3, said_p99_us=4)
    rows = rows_of(CALL, {"a": [reading(50)], "b": [reading(50)]}, {"a": wire}, ["a"])
    shown = table(rows, ["a", "absent"])

    assert shown.title == "varying replies, 4 connections"
    assert shown.row_count == 2
    assert Row(**rows[1].to_document()) == rows[1]


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_varying_replies_differ_in_a_header_and_the_body_and_constant_ones_do_not(
    tmp_path: Path,
) -> None:
    assert NGINX is not None
    replies = {}
    with nginx(NGINX, tmp_path, core=min(os.sched_getaffinity(0))) as port:
        for kind in KINDS:
            with httpx.Client(trust_env=False) as client:
                url = f"http://127.0.0.1:{port}/{kind}"
                replies[kind] = [client.get(url) for _ in range(12)]

    for of_a_kind in replies.values():
        assert [reply.json()["source"] for reply in of_a_kind] == ["fresh"] * 12
    assert len({reply.content for reply in replies["constant"]}) == 1
    assert "X-Request-Id" not in replies["constant"][0].headers
    assert len({reply.content for reply in replies["varying"]}) == 12
    assert len({reply.headers["X-Request-Id"] for reply in replies["varying"]}) == 12
    assert len({len(reply.content) for reply in replies["varying"]}) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_our_engine_records_and_classifies_each_reply_of_either_kind(
    kind: str, server: Server
) -> None:
    found = run_tool(OURS, kind, server)

    assert found.requests == server.answered > 10


@pytest.mark.parametrize("name", [OURS, "aiohttp", "httpx", "Locust FastHttpUser"])
def test_a_client_in_python_tells_what_it_measured(name: str, server: Server) -> None:
    found = run_tool(name, "varying", server)

    assert found.requests > 10
    assert 0 <= found.p50_us <= found.p99_us  # Locust knows whole milliseconds only
    assert found.p99_us > 0
    assert found.cpu_s


def run_tool(name: str, kind: str, server: Server) -> Reading:
    (tool,) = (tool for tool in TOOLS if tool.name == name)
    origin = f"http://127.0.0.1:{server.port}"
    call = Call(origin=origin, kind=kind, connections=2, duration_s=1)
    return tool.run(call, core=min(os.sched_getaffinity(0)))


def test_a_capture_sees_each_request_and_reply_unless_it_is_not_allowed(server: Server) -> None:
    waits: list[float] = []
    whole = answer(0)
    address = ("127.0.0.1", server.port)
    try:
        with captured(server.port) as segments, socket.create_connection(address) as client:
            for _ in range(3):
                client.sendall(b"GET /constant HTTP/1.1\r\n\r\n")
                assert client.recv(len(whole), socket.MSG_WAITALL) == whole
        waits = waits_s(segments)
    except PermissionError:
        assert os.geteuid() != 0
    else:
        assert len(waits) == 3
        assert all(0 < wait_s < 5 for wait_s in waits)
