import dataclasses
import io
from itertools import islice
from random import Random
from typing import Any

import httpx
import pytest

from examples.resilience_demo.paint import wants_colour
from examples.resilience_demo.scenario import plan, repeated_plan
from examples.resilience_demo.servers import CRYPTO, WEATHER, CryptoExchange, Weather
from examples.resilience_demo.summary import broken_identities, summary
from examples.resilience_demo.timeline import Timeline
from resilience import (
    AttemptStarted,
    BulkheadFull,
    CallRejected,
    CircuitClosed,
    CircuitHalfOpened,
    CircuitOpened,
    Event,
    GaveUp,
    GaveUpReason,
    QueueRejected,
    RateLimitDelayed,
    RetryScheduled,
    ServerRateLimited,
    SourceStatistics,
)
from tests.resilience.clock import HandClock

AT: Any = {"source": WEATHER, "at_s": 12.5}
CALL: Any = {**AT, "request_id": 7, "attempt": 1}
OPENED = CircuitOpened(**AT, cause=500, break_s=1.5)
HALF_OPENED = CircuitHalfOpened(**AT)


@pytest.mark.parametrize(
    ("events", "line"),
    [
        (
            [ServerRateLimited(**CALL, pause_s=1.0)],
            (
                "#007 HTTP-429       the server answered 429 with Retry-After; all calls to it "
                "pause for 1000 ms"
            ),
        ),
        (
            [RetryScheduled(**CALL, cause=503, delay_s=0.127)],
            (
                "#007 RETRY          retry 1/2 after HTTP 503 Service Unavailable, in 127 ms "
                "(exponential backoff with jitter)"
            ),
        ),
        (
            [RetryScheduled(**CALL, cause=429, delay_s=1)],
            (
                "#007 RETRY          retry 1/2 after HTTP 429 Too Many Requests, in 1000 ms "
                "(as Retry-After asks)"
            ),
        ),
        (
            [RetryScheduled(**CALL, cause=httpx.ReadError("reset"), delay_s=0)],
            (
                "#007 RETRY          retry 1/2 after ReadError('reset'), at once "
                "(the circuit will reject it)"
            ),
        ),
        (
            [RateLimitDelayed(**CALL, waited_s=0.405)],
            "#007 THROTTLED      waited 405 ms for a token of the rate limit",
        ),
        (
            [CallRejected(**CALL, retry_after_s=1.376)],
            "#007 CB-REJECT      circuit open, not sent; trial allowed in 1376 ms",
        ),
        (
            [HALF_OPENED, CallRejected(**CALL, retry_after_s=1.376)],
            "#007 CB-REJECT      circuit half-open, not sent; trial allowed in 1376 ms",
        ),
        (
            [CallRejected(**CALL, retry_after_s=None)],
            "#007 CB-REJECT      circuit isolated by hand, not sent",
        ),
        (
            [GaveUp(**CALL, cause=500, reason=GaveUpReason.RETRIES_EXHAUSTED)],
            (
                "#007 GAVE-UP        the call failed with HTTP 500 Internal Server Error: "
                "retries exhausted"
            ),
        ),
        (
            [OPENED],
            (
                "     CIRCUIT-OPEN   circuit closed -> open: 5 consecutive failures, the last "
                "HTTP 500 Internal Server Error; break of 1500 ms"
            ),
        ),
        (
            [OPENED, HALF_OPENED, OPENED],
            (
                "     CIRCUIT-OPEN   circuit half-open -> open: the trial request failed with "
                "HTTP 500 Internal Server Error; break of 1500 ms"
            ),
        ),
        (
            [HALF_OPENED, OPENED, OPENED],
            (
                "     CIRCUIT-OPEN   circuit closed -> open: 5 consecutive failures, the last "
                "HTTP 500 Internal Server Error; break of 1500 ms"
            ),
        ),
        (
            [CircuitOpened(**AT, cause=None, break_s=None)],
            "     CIRCUIT-OPEN   circuit isolated by hand",
        ),
        (
            [HALF_OPENED],
            (
                "     HALF-OPEN      circuit open -> half-open: the break is over, a single trial "
                "is let through"
            ),
        ),
        (
            [CircuitClosed(**AT)],
            "     CIRCUIT-CLOSED circuit half-open -> closed: the trial request went well",
        ),
    ],
)
def test_an_event_is_a_line(events: list[Event], line: str) -> None:
    lines: list[str] = []
    told = Timeline(lines.append, began_s=10, colour=False)
    for event in events:
        told.on_event(event)
    assert lines[-1] == f"+ 2.500s Weather        {line}"


def test_a_full_queue_says_what_to_do_and_an_attempt_is_no_line() -> None:
    lines: list[str] = []
    told = Timeline(lines.append, began_s=0, colour=False).on_event
    told(AttemptStarted(**CALL))
    told(QueueRejected(**CALL, cause=BulkheadFull(WEATHER, 2, 3)))
    (line,) = lines
    assert "QUEUE-FULL     2 calls to 'Weather' run and 3 wait" in line


def test_a_painted_line_says_the_same_as_a_plain_one() -> None:
    painted: list[str] = []
    Timeline(painted.append, began_s=0, colour=True).on_event(CircuitClosed(**AT))
    assert "\x1b[32mCIRCUIT-CLOSED\x1b[0m circuit half-open" in painted[0]


@pytest.mark.parametrize(
    ("terminal", "environment", "wanted"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": ""}, True),
        (True, {"NO_COLOR": "0"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
    ],
)
def test_colour_is_for_terminals_whose_user_does_not_mind(
    *, terminal: bool, environment: dict[str, str], wanted: bool
) -> None:
    class Out(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    assert wants_colour(Out(), environment) is wanted


COUNTED = SourceStatistics(
    source=CRYPTO,
    requests=50,
    ok=50,
    failed=0,
    cancelled=0,
    in_flight=0,
    attempts=69,
    retries=19,
    hedges=0,
    waiting=0,
    rejects=0,
    circuit_rejects=0,
    queue_rejects=0,
    abandoned=0,
    rate_limit_waits=52,
    rate_limit_wait_s=48.69,
    http_429=9,
    retries_suppressed=0,
    circuit_opened=0,
    circuit="closed",
    finished_at_s=111.33,
)


def test_the_summary_is_a_narrow_table_of_aligned_columns() -> None:
    other = dataclasses.replace(COUNTED, source=WEATHER, finished_at_s=None, circuit=None)
    assert summary([COUNTED, other], began_s=100) == [
        "Source         CryptoExchange  Weather",
        "Requests                   50       50",
        "OK                         50       50",
        "Failed                      0        0",
        "Attempts                   69       69",
        "Retries                    19       19",
        "RL waits                   52       52",
        "RL wait total          48.69s   48.69s",
        "HTTP 429                    9        9",
        "CB opened                   0        0",
        "CB rejects                  0        0",
        "Circuit                closed        -",
        "Finished at            11.33s        -",
    ]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({}, None),
        ({"ok": 49}, "Requests = OK + Failed does not hold: 50 != 49 + 0"),
        ({"retries": 20}, "Retries = Attempts + CB rejects - Requests does not hold: 20 != 69"),
        ({"circuit_rejects": 1}, "does not hold: 19 != 69 + 1 - 50"),
    ],
    ids=str,
)
def test_what_does_not_add_up_is_said(
    change: Any,  # noqa: ANN401
    complaint: str | None,
) -> None:
    complaints = list(broken_identities([dataclasses.replace(COUNTED, **change)]))
    assert len(complaints) == (complaint is not None)
    assert all(complaint in said for said in complaints if complaint)


def test_the_plan_is_a_hundred_requests_in_time_order_at_eleven_a_second() -> None:
    requests = plan()
    times = [request.at_s for request in requests]
    assert times == sorted(times)
    assert 10 < len(times) / times[-1] < 12
    assert [request.source for request in requests].count(CRYPTO) == 50
    assert len(requests) == 100


def test_the_plan_goes_on_as_it_began() -> None:
    first, second = list(islice(repeated_plan(), 100)), list(islice(repeated_plan(), 100, 200))
    assert first == plan()
    assert [(each.source, each.path) for each in second] == [(p.source, p.path) for p in first]
    assert {round(b.at_s - a.at_s, 6) for a, b in zip(first, second, strict=True)} == {9.0}
    assert first[-1].at_s < second[0].at_s


async def test_the_exchange_accepts_eight_requests_in_any_second() -> None:
    now_s = 0.0
    exchange = CryptoExchange(lambda: now_s, Random(1))
    accepted: list[float] = []
    for step in range(200):
        now_s = step * 0.03
        reply = await exchange("/")
        if reply.status == 429:
            assert reply.headers["Retry-After"] == "1"
        else:
            accepted.append(now_s)
    assert all(sum(start <= at_s < start + 1 for at_s in accepted) <= 8 for start in accepted)
    assert len(accepted) >= 8 * 5


async def test_the_exchange_fails_seven_in_a_hundred() -> None:
    times = iter(range(10_000))
    exchange = CryptoExchange(lambda: float(next(times)), Random(1))
    statuses = [(await exchange("/")).status for _ in range(10_000)]
    assert 600 <= statuses.count(503) <= 800
    assert statuses.count(200) + statuses.count(503) == 10_000


@pytest.mark.parametrize(
    ("age_s", "status"), [(0, 200), (1.49, 200), (1.5, 500), (4.49, 500), (4.5, 200)]
)
@pytest.mark.parametrize("falls_ill", [True, False])
async def test_the_weather_is_ill_for_three_seconds_if_at_all(
    age_s: float, status: int, *, falls_ill: bool
) -> None:
    clock = HandClock()
    clock.now_s = born_s = 1024.0
    weather = Weather(clock, falls_ill=falls_ill)
    clock.now_s = born_s + age_s
    assert (await weather("/")).status == (status if falls_ill else 200)
    assert ("500 from 1.5 s to 4.5 s" in weather.trouble) == falls_ill
