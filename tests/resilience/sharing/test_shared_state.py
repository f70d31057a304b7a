import asyncio
import logging
import time
from random import Random

import pytest

from resilience import CircuitClosed, CircuitOpen, OpenedElsewhere
from resilience.shared_state import SharingSettings
from tests.resilience.sharing.processes import (
    IMPATIENT,
    KEY,
    Process,
    eventually,
    exchanged,
    processes,
)
from tests.valkey import Valkey

pytestmark = pytest.mark.integration


async def test_when_one_process_opens_the_others_do_so_for_the_rest_of_its_break(
    server: Valkey,
) -> None:
    async with processes(*[server.url] * 3) as (one, *others):
        one.fail()
        await eventually(lambda: all(other.state == "open" for other in others))
        for other in others:
            with pytest.raises(CircuitOpen) as raised:
                other.breaker.admit()
            assert isinstance(raised.value.cause, OpenedElsewhere)
            assert raised.value.retry_after_s is not None
            assert 25 < raised.value.retry_after_s <= 30
        await exchanged(one, *others)
        assert [len(process.opened) for process in (one, *others)] == [1, 1, 1]  # no echo


async def test_when_a_trial_closes_one_process_the_others_close_too(server: Valkey) -> None:
    async with processes(*[server.url] * 2) as (one, other):
        one.fail()
        await eventually(lambda: other.state == "open")
        other.close_by_trial()
        await eventually(lambda: one.state == "closed")
        await exchanged(one, other)
        assert (one.state, other.state) == ("closed", "closed")


async def test_a_process_that_starts_later_finds_the_circuit_open(server: Valkey) -> None:
    async with processes(*[server.url] * 2) as (one, _):
        one.fail()
        await exchanged(one)
        async with processes(server.url) as (late,):
            await eventually(lambda: late.state == "open")


async def test_isolation_by_hand_stays_in_its_process_and_heeds_no_other(server: Valkey) -> None:
    async with processes(*[server.url] * 3) as (isolated, one, other):
        isolated.breaker.isolate()
        await exchanged(isolated, one, other)
        assert one.state == "closed"
        one.fail()
        await eventually(lambda: other.state == "open")
        one.close_by_trial()
        await eventually(lambda: other.state == "closed")
        assert isolated.breaker.isolated


async def test_the_end_of_an_isolation_closes_no_other_circuit(server: Valkey) -> None:
    async with processes(*[server.url] * 3) as (isolated, one, other):
        isolated.breaker.isolate()
        one.fail()
        await eventually(lambda: other.state == "open")
        isolated.breaker.reset()
        await exchanged(isolated, one, other)
        assert [isolated.state, one.state, other.state] == ["closed", "open", "open"]
        assert not any(isinstance(event, CircuitClosed) for event in one.events)


async def test_a_reset_by_hand_stays_in_its_process_and_no_older_word_undoes_it(
    server: Valkey,
) -> None:
    async with processes(*[server.url] * 3) as (one, other, reset):
        one.fail()
        await eventually(lambda: reset.state == "open")
        reset.breaker.reset()
        await exchanged(one, other, reset)
        assert [one.state, other.state, reset.state] == ["open", "open", "closed"]


async def test_while_redis_fails_each_process_stands_alone_and_joins_again_afterwards(
    server: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    server.stop()
    with caplog.at_level(logging.INFO, "resilience"):
        async with processes(*[server.url] * 2) as (one, other):
            one.fail()
            await exchanged(one, other)
            assert (one.state, other.state) == ("open", "closed")
            server.start()
            await eventually(lambda: other.state == "open")
            await exchanged(one, other)
    messages = [record.getMessage() for record in caplog.records]
    failed = [message for message in messages if "not shared while Redis fails" in message]
    again = [message for message in messages if message.startswith("circuits are shared again")]
    assert (len(failed), len(again)) == (2, 2)  # one a process, however often it tried
    assert len(messages) == 4


async def test_a_redis_that_hangs_holds_no_call_back(
    server: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    async with processes(*[server.url] * 2, settings=IMPATIENT) as (one, other):
        await exchanged(one, other)
        server.hang()
        for _ in range(1000):  # whoever waited for Redis would do so for ever
            one.breaker.reset()
            one.fail()
        await eventually(lambda: "its answer took longer than 0.1 s" in caplog.text)
        server.go_on()
        await eventually(lambda: other.state == "open")


async def test_a_redis_that_hangs_does_not_hold_back_the_end_of_the_block(server: Valkey) -> None:
    patient = SharingSettings(poll_s=0.02, limit_s=10, connect_limit_s=10)
    async with processes(server.url, settings=patient) as (one,):
        await exchanged(one)
        server.hang()
        one.fail()
        await eventually(lambda: not one.shared._noted.is_set())  # it asks
        leaving_ns = time.perf_counter_ns()
    assert (time.perf_counter_ns() - leaving_ns) / 1e9 < 5


@pytest.mark.parametrize(
    "word",
    [
        *(b"", b"open", b"open x", b"\xff\xfe", b"half-open 1 me", b"closed", b"x" * 1000),
        *(b"open 1 ", b"open -1 me", b"open " + b"9" * 5000 + b" me", b"open 1 me"),
    ],
)
async def test_what_a_stranger_wrote_there_does_no_harm(server: Valkey, word: bytes) -> None:
    async with processes(*[server.url] * 2) as (one, other):
        await one.redis.set(KEY, word)  # without an end: never obeyed
        await exchanged(one, other)
        assert (one.state, other.state) == ("closed", "closed")
        one.fail()
        await eventually(lambda: other.state == "open")


async def test_after_random_changes_all_circuits_are_in_one_state(server: Valkey) -> None:
    chance = Random(4)
    async with processes(*[server.url] * 3) as all_of_them:
        for _ in range(20):
            last = chance.choice(all_of_them)
            if last.state == "closed":
                last.fail()
            else:
                last.close_by_trial()
            await asyncio.sleep(chance.choice([0, 0.02, 0.07]))
        await exchanged(*all_of_them)
        await eventually(lambda: len({process.state for process in all_of_them}) == 1)


async def test_a_word_that_is_lost_is_said_again(server: Valkey) -> None:
    async with processes(server.url) as (one,):
        one.fail()
        await exchanged(one)
        await one.redis.flushall()
        await exchanged(one)
        async with processes(server.url) as (late,):
            await eventually(lambda: late.state == "open")


async def test_the_blocks_own_error_passes_as_it_is(server: Valkey) -> None:
    process = Process(server.url)
    with pytest.raises(ValueError, match="mine"):
        async with process.shared.sharing():
            raise ValueError("mine")
    assert asyncio.all_tasks() == {asyncio.current_task()}
    await process.redis.aclose()


async def test_the_block_ends_at_once_whatever_redis_is_asked_at_that_moment(
    server: Valkey,
) -> None:
    chance = Random(6)
    async with asyncio.timeout(20):
        for _ in range(200):
            process = Process(server.url)
            async with process.shared.sharing():
                for _ in range(chance.randrange(12)):
                    await asyncio.sleep(0)
                await asyncio.sleep(chance.choice([0, 0.002]))
            await process.redis.aclose()
