import asyncio

import pytest

from loadgen import Closed, JsonFieldRule, Load, Request, Samples, TimeOuts, run_load
from tests.loadgen.scripted_server import json_reply, scripted_server

RACE = "closed before a reply, on a reused connection"
RULE = JsonFieldRule(json_field="source", classes=("fresh", "stale"))


def load_of(url: str, requests: int, tasks: int, time_outs: TimeOuts | None = None) -> Load:
    return Load(
        requests=(Request(url=url),),
        shape=Closed(requests=requests, tasks=tasks),
        outcome=RULE,
        time_outs=time_outs or TimeOuts(),
    )


@pytest.mark.parametrize(("requests", "tasks"), [(1, 1), (1, 9), (7, 3), (50, 4), (3, 100)])
async def test_exactly_n_requests_are_sent_whatever_n_and_c_are(requests: int, tasks: int) -> None:
    async with scripted_server(lambda _: json_reply('{"source": "fresh"}')) as server:
        samples = await run_load(load_of(server.url, requests, tasks))

        assert len(server.requests) == requests
        assert samples.outcome == ["fresh"] * requests


async def test_no_more_tasks_than_asked_for_send_at_once() -> None:
    script = lambda _: json_reply('{"source": "fresh"}')  # noqa: E731 - one reply for all
    async with scripted_server(script, delay_s=0.01) as server:
        await run_load(load_of(server.url, 20, 4))

        assert server.most_concurrent == 4
        assert server.connections == 4


async def test_each_sample_tells_when_and_how_its_request_ended() -> None:
    replies = [
        json_reply('{"source": "fresh"}'),
        json_reply('{"source": "stale"}'),
        json_reply('{"source": "else"}'),
        json_reply("{}", status="503 Service Unavailable"),
        json_reply("nonsense"),
        None,
    ]
    async with scripted_server(lambda n: replies[n], delay_s=0.005) as server:
        samples = await run_load(load_of(server.url, 6, 1))

    assert samples.outcome == ["fresh", "stale", "error", "error", "error", "error"]
    assert samples.status == [200, 200, 200, 503, 200, None]
    assert samples.error[:2] == ["", ""]
    assert samples.error[3:] == ["status 503", "body is not JSON", RACE]
    for sample in samples:
        assert sample.sent_s is not None
        assert 0 <= sample.scheduled_s <= sample.sent_s <= sample.finished_s
        assert sample.finished_s - sample.sent_s >= 0.004


async def test_a_dropped_kept_alive_connection_is_an_error_and_not_sent_again() -> None:
    script = lambda n: json_reply('{"source": "fresh"}') if n % 2 == 0 else None  # noqa: E731
    async with scripted_server(script) as server:
        samples = await run_load(load_of(server.url, 10, 1))

        assert len(server.requests) == 10
    assert samples.outcome.count("error") == 5


async def test_a_refused_connection_is_an_error_that_was_never_sent() -> None:
    async with scripted_server(lambda _: None) as server:
        url = server.url
    samples = await run_load(load_of(url, 2, 2))

    assert samples.outcome == ["error", "error"]
    assert samples.sent_s == [None, None]
    assert samples.error[0].startswith("cannot connect")


async def test_a_silent_server_ends_in_a_timeout_of_the_request() -> None:
    async with scripted_server(lambda _: b"", delay_s=5) as server:
        load = load_of(server.url, 1, 1, time_outs=TimeOuts(whole_s=0.05))
        samples = await run_load(load)

    assert samples.error == ["no complete reply in 0.05 s"]


async def test_a_cancelled_load_leaves_the_samples_that_finished() -> None:
    samples = Samples()
    async with scripted_server(lambda n: json_reply('{"source": "fresh"}') if n < 3 else b"") as _s:
        load = load_of(_s.url, 10, 1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run_load(load, into=samples), 0.3)

    assert samples.outcome == ["fresh"] * 3
    assert samples.report is not None
    assert samples.report.connections == 1
