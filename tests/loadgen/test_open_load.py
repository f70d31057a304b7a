"""The open model: requests fall due whatever became of those before, and none is left out."""

import asyncio
from time import perf_counter

import pytest

from loadgen import Closed, JsonFieldRule, Load, Open, Request, Samples, Stage, TimeOuts, run_load
from tests.loadgen import zoo
from tests.loadgen.scripted_server import json_reply, scripted_server
from tests.loadgen.zoo import badly_behaved

RULE = JsonFieldRule(json_field="source", classes=("fresh",))
FRESH = json_reply('{"source": "fresh"}')


def open_load(
    url: str, rate_per_s: float, duration_s: float, *, connections: int = 50, whole_s: float = 60
) -> Load:
    return Load(
        requests=(Request(url=url),),
        shape=Open(
            stages=(Stage(duration_s=duration_s, rate_per_s=rate_per_s),),
            max_connections=connections,
        ),
        outcome=RULE,
        time_outs=TimeOuts(whole_s=whole_s),
    )


async def test_requests_are_sent_when_they_are_due() -> None:
    async with scripted_server(lambda _: FRESH) as server:
        samples = await run_load(open_load(server.url, 100, 0.5))

    assert samples.outcome == ["fresh"] * 50
    assert sorted(samples.scheduled_s) == pytest.approx([n / 100 for n in range(50)])
    assert all(
        sent is not None and due <= sent
        for due, sent in zip(samples.scheduled_s, samples.sent_s, strict=True)
    )
    assert samples.report is not None
    assert samples.report.asked_per_s == 100


async def test_a_wait_for_a_free_connection_is_part_of_the_latency() -> None:
    """One connection, 20 ms a reply, a request each 10 ms: the k-th waits 10 ms longer each."""
    async with scripted_server(lambda _: FRESH, delay_s=0.02) as server:
        samples = await run_load(open_load(server.url, 100, 0.2, connections=1))

        assert server.most_concurrent == 1
    assert len(samples) == 20
    assert all(
        latency >= 0.019 + 0.0099 * place for place, latency in enumerate(samples.latencies_s())
    )


async def test_what_finds_no_connection_in_time_is_counted_as_never_sent() -> None:
    """All are due at about the same time, and the first has the connection until they are late."""
    async with badly_behaved(zoo.never_answers) as url:
        samples = await run_load(open_load(url, 20_000, 0.001, connections=1, whole_s=0.2))

    assert len(samples) == 20
    assert samples.error[0] == "no complete reply in 0.2 s"
    for sent_s, error in zip(samples.sent_s, samples.error, strict=True):
        assert (sent_s is None) == error.startswith(("no connection", "no free connection"))
    assert samples.sent_s.count(None) > 10


async def test_a_closed_load_by_duration_hands_out_tickets_until_it_is_over() -> None:
    async with scripted_server(lambda _: FRESH, delay_s=0.01) as server:
        load = Load(
            requests=(Request(url=server.url),),
            shape=Closed(tasks=2, duration_s=0.1),
            outcome=RULE,
        )
        samples = await run_load(load)

        assert len(server.requests) == len(samples) > 2
    assert max(samples.scheduled_s) < 0.1


async def test_a_rate_beyond_any_machine_leaves_the_loop_its_turns() -> None:
    """Else no connection could be made, and nobody could interrupt it."""
    samples, lags_s = Samples(), []
    async with scripted_server(lambda _: FRESH) as server:
        load = open_load(server.url, 1e6, 1, connections=4)
        sending = asyncio.ensure_future(run_load(load, into=samples))
        for _ in range(20):
            began = perf_counter()
            await asyncio.sleep(0.01)
            lags_s.append(perf_counter() - began)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending

    assert sorted(lags_s)[10] < 0.2
    assert set(samples.outcome) == {"fresh"}


async def test_a_cancelled_open_load_reports_the_rate_that_it_was_asked_for_until_then() -> None:
    samples = Samples()
    async with scripted_server(lambda _: FRESH) as server:
        load = open_load(server.url, 100, 600)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run_load(load, into=samples), 0.5)

    assert samples.report is not None
    assert samples.report.asked_per_s == pytest.approx(100, rel=0.2)
