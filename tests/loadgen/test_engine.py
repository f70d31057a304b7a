import asyncio

import pytest

from loadgen import Load, OutcomeRule, Samples, run_load
from tests.loadgen.scripted_server import json_reply, scripted_server

RULE = OutcomeRule(json_field="source", classes=("fresh", "stale"))


@pytest.mark.parametrize(("requests", "tasks"), [(1, 1), (1, 9), (7, 3), (50, 4), (3, 100)])
async def test_exactly_n_requests_are_sent_whatever_n_and_c_are(requests: int, tasks: int) -> None:
    async with scripted_server(lambda _: json_reply('{"source": "fresh"}')) as server:
        samples = await run_load(Load(url=server.url, requests=requests, tasks=tasks, outcome=RULE))

        assert len(server.requests) == requests
        assert samples.outcome == ["fresh"] * requests


async def test_no_more_tasks_than_asked_for_send_at_once() -> None:
    script = lambda _: json_reply('{"source": "fresh"}')  # noqa: E731 - one reply for all
    async with scripted_server(script, delay_s=0.01) as server:
        await run_load(Load(url=server.url, requests=20, tasks=4, outcome=RULE))

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
        samples = await run_load(Load(url=server.url, requests=6, tasks=1, outcome=RULE))

    assert samples.outcome == ["fresh", "stale", "error", "error", "error", "error"]
    assert samples.status == [200, 200, 200, 503, 200, None]
    assert samples.error[:2] == ["", ""]
    assert samples.error[3:] == ["status 503", "body is not JSON", "closed without a reply"]
    for sample in samples:
        assert sample.sent_s is not None
        assert 0 <= sample.scheduled_s <= sample.sent_s <= sample.finished_s
        assert sample.finished_s - sample.sent_s >= 0.004


async def test_a_dropped_kept_alive_connection_is_an_error_and_not_sent_again() -> None:
    script = lambda n: json_reply('{"source": "fresh"}') if n % 2 == 0 else None  # noqa: E731
    async with scripted_server(script) as server:
        samples = await run_load(Load(url=server.url, requests=10, tasks=1, outcome=RULE))

        assert len(server.requests) == 10
    assert samples.outcome.count("error") == 5


async def test_a_refused_connection_is_an_error_that_was_never_sent() -> None:
    async with scripted_server(lambda _: None) as server:
        url = server.url
    samples = await run_load(Load(url=url, requests=2, tasks=2, outcome=RULE))

    assert samples.outcome == ["error", "error"]
    assert samples.sent_s == [None, None]
    assert samples.error[0].startswith("cannot connect")


async def test_a_silent_server_ends_in_a_timeout_of_the_request() -> None:
    async with scripted_server(lambda _: b"", delay_s=5) as server:
        load = Load(url=server.url, requests=1, tasks=1, outcome=RULE, timeout_s=0.05)
        samples = await run_load(load)

    assert samples.error == ["no complete reply in 0.05 s"]


async def test_a_cancelled_load_leaves_the_samples_that_finished() -> None:
    samples = Samples()
    async with scripted_server(lambda n: json_reply('{"source": "fresh"}') if n < 3 else b"") as _s:
        load = Load(url=_s.url, requests=10, tasks=1, outcome=RULE)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run_load(load, into=samples), 0.3)

    assert samples.outcome == ["fresh"] * 3
