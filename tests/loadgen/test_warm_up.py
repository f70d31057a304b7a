"""What is sent before the first request that counts, and that nothing of it is counted."""

import pytest

from loadgen import Closed, JsonFieldRule, Load, Open, Request, Stage, TimeOuts, run_load
from tests.loadgen import zoo
from tests.loadgen.scripted_server import json_reply, scripted_server
from tests.loadgen.zoo import badly_behaved

RULE = JsonFieldRule(json_field="source", classes=("fresh",))
FRESH = json_reply('{"source": "fresh"}')


async def test_the_warm_up_is_sent_and_not_recorded_and_keeps_its_connections() -> None:
    async with scripted_server(lambda _: FRESH) as server:
        closed = Load(
            requests=(Request(url=server.url),),
            shape=Closed(requests=5, tasks=2),
            outcome=RULE,
            warmup_requests=7,
        )
        samples = await run_load(closed)

        assert len(server.requests) == 12
        assert server.connections == 2
    assert len(samples) == 5
    assert min(samples.scheduled_s) == 0


async def test_an_open_warm_up_has_the_first_rate_and_no_gap_after_it() -> None:
    async with scripted_server(lambda _: FRESH) as server:
        load = Load(
            requests=(Request(url=server.url),),
            shape=Open(stages=(Stage(duration_s=0.1, rate_per_s=100),)),
            outcome=RULE,
            warmup_s=0.1,
        )
        samples = await run_load(load)

        assert len(server.requests) == 20
    assert sorted(samples.scheduled_s) == pytest.approx([n / 100 for n in range(10)])


@pytest.mark.parametrize(
    ("warmup", "tasks"), [(10, 50), (1, 2), (49, 50), (50, 50), (51, 50), (60, 50), (3, 1)]
)
async def test_exactly_n_requests_count_whatever_the_warm_up_and_the_tasks_are(
    warmup: int, tasks: int
) -> None:
    async with scripted_server(lambda _: FRESH) as server:
        load = Load(
            requests=(Request(url=server.url),),
            shape=Closed(requests=100, tasks=tasks),
            outcome=RULE,
            warmup_requests=warmup,
        )
        samples = await run_load(load)

        assert len(server.requests) == warmup + 100
    assert len(samples) == 100


async def test_a_warm_up_that_times_out_together_with_what_counts_does_not_count() -> None:
    """All tasks run out of time in one look at the clock, half of them with a ticket to warm up."""
    async with badly_behaved(zoo.never_answers) as url:
        load = Load(
            requests=(Request(url=url),),
            shape=Closed(requests=20, tasks=10),
            outcome=RULE,
            time_outs=TimeOuts(whole_s=0.1),
            warmup_requests=15,
        )
        samples = await run_load(load)

    assert samples.outcome == ["error"] * 20
