"""The parts of `benchmarks.load` that decide: what tools print, what the wire shows, medians."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.load import outputs
from benchmarks.load.capture import Segment, captured, waits_s
from benchmarks.load.reading import Reading, quantile_us
from benchmarks.load.tables import Row, Wire, rows_of, table
from benchmarks.load.target import REPLY
from benchmarks.load.tools import OURS, TOOLS, Call

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
ANSWER = (
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    f"Content-Length: {len(REPLY)}\r\n\r\n{REPLY}"
).encode()


def reading(per_s: float, *, cpu_us: float = 10.0, p50_us: float = 100.0) -> Reading:
    requests = int(per_s)
    cpu_s = cpu_us * requests / 1e6
    return Reading(requests=requests, duration_s=1, p50_us=p50_us, p99_us=2 * p50_us, cpu_s=cpu_s)


@pytest.fixture
def port() -> Iterator[int]:
    """A server that answers each request, one read for each, until the test ends."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_serve, args=(listening,), daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def _serve(listening: socket.socket) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    with suppress(OSError), connection:
        while connection.recv(4096):
            connection.sendall(ANSWER)


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
    first, second = rows_of(4, readings, {}, "y")

    assert first.per_s == 50
    assert first.ratio == pytest.approx(0.3)
    assert second.ratio == 1
    assert first.cpu_us == pytest.approx(10)


def test_without_the_yardstick_there_are_no_ratios() -> None:
    (row,) = rows_of(4, {"a": [reading(50)]}, {}, "y")
    assert row.ratio is None


def test_a_table_has_a_row_a_tool_with_what_was_captured() -> None:
    wire = Wire(p50_us=1, p99_us=2, said_p50_us=3, said_p99_us=4)
    rows = rows_of(4, {"a": [reading(50)], "b": [reading(50)]}, {"a": wire}, "a")

    assert table(4, rows, "a").row_count == 2
    assert Row(**rows[1].to_document()) == rows[1]


@pytest.mark.parametrize("name", [OURS, "aiohttp", "httpx", "Locust FastHttpUser"])
def test_a_client_in_python_tells_what_it_measured(name: str, port: int) -> None:
    (tool,) = (tool for tool in TOOLS if tool.name == name)
    call = Call(url=f"http://127.0.0.1:{port}/", connections=2, duration_s=1)
    found = tool.run(call, core=min(os.sched_getaffinity(0)))

    assert found.requests > 10
    assert 0 <= found.p50_us <= found.p99_us  # Locust knows whole milliseconds only
    assert found.p99_us > 0
    assert found.cpu_s


def test_a_capture_sees_each_request_and_reply_unless_it_is_not_allowed(port: int) -> None:
    waits: list[float] = []
    try:
        with captured(port) as segments, socket.create_connection(("127.0.0.1", port)) as client:
            for _ in range(3):
                client.sendall(b"GET / HTTP/1.1\r\n\r\n")
                assert client.recv(len(ANSWER), socket.MSG_WAITALL) == ANSWER
        waits = waits_s(segments)
    except PermissionError:
        assert os.geteuid() != 0
    else:
        assert len(waits) == 3
        assert all(0 < wait_s < 5 for wait_s in waits)
