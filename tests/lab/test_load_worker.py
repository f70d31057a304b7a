"""The lab's generator as a process, driven from the lab."""

import asyncio

import pytest

from lab.run.engine import counts_of_cut_short, in_words, start_engine
from loadgen import Closed, Load, Open, Request, Samples, Stage, StatusRule
from tests.loadgen import zoo
from tests.loadgen.zoo import badly_behaved

pytestmark = pytest.mark.integration
OK = StatusRule(statuses={"2xx": "ok"})


async def cancel_once(served: int, load: Load, seen: list[bytes]) -> Samples:
    """Send *load* until the server has seen so many requests; return what was cut short."""
    samples = Samples()
    async with start_engine(None) as engine:
        sending = asyncio.ensure_future(engine.send(load, on_finished=lambda _: None, into=samples))
        async with asyncio.timeout(40):
            while len(seen) < served:  # noqa: ASYNC110 - a server's list has no event
                await asyncio.sleep(0.01)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
    return samples


async def test_a_load_that_is_cut_short_tells_what_nobody_has_answered() -> None:
    seen: list[bytes] = []

    async def answers_three(guest: zoo.Guest) -> None:
        while True:
            seen.append(await guest.request())
            if len(seen) > 3:
                await zoo.never_answers(guest)
            await guest.say(zoo.GOOD)

    async with badly_behaved(answers_three) as url:
        load = Load(requests=(Request(url=url),), shape=Closed(requests=100, tasks=4), outcome=OK)
        samples = await cancel_once(7, load, seen)
    counts = counts_of_cut_short(samples)

    assert counts == {"ended": 3, "unanswered": 4, "waiting": 0}
    assert in_words(counts) == "3 requests had ended, 4 sent and not answered"


async def test_an_open_load_that_is_cut_short_tells_what_was_not_sent() -> None:
    seen: list[bytes] = []

    async def hangs(guest: zoo.Guest) -> None:
        seen.append(await guest.request())
        await zoo.never_answers(guest)

    async with badly_behaved(hangs) as url:
        shape = Open(stages=(Stage(duration_s=600, rate_per_s=500),), max_connections=2)
        load = Load(requests=(Request(url=url),), shape=shape, outcome=OK)
        samples = await cancel_once(2, load, seen)

    assert (len(samples), samples.unanswered) == (0, 2)
    assert in_words({"ended": 0, "unanswered": 2, "waiting": 9}) == (
        "0 requests had ended, 2 sent and not answered, 9 due and not sent"
    )


def test_samples_without_a_report_tell_nothing() -> None:
    assert in_words(counts_of_cut_short(Samples())) == "what became of its requests is not known"
