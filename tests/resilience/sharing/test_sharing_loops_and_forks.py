"""Circuits are shared on one event loop after the other, and in forked processes."""

import asyncio
import logging
from pathlib import Path

import pytest

from tests.resilience import forking
from tests.resilience.sharing.processes import IMPATIENT, Process, eventually, exchanged
from tests.valkey import Valkey, valkey

pytestmark = pytest.mark.integration


def test_one_asyncio_run_after_the_other_shares_the_circuit(
    server: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = Process(server.url), Process(server.url)

    async def open_and_close() -> None:
        async with one.shared.sharing(), other.shared.sharing():
            one.fail()
            await eventually(lambda: other.state == "open")
            other.close_by_trial()
            await eventually(lambda: one.state == "closed")

    with caplog.at_level(logging.INFO, "resilience"):
        for _ in range(3):
            asyncio.run(open_and_close())
    assert caplog.messages == []


def test_a_redis_client_that_another_run_has_used_is_connected_anew(server: Valkey) -> None:
    process = Process(server.url, settings=IMPATIENT)

    async def use_it() -> None:
        await process.redis.ping()

    async def share() -> None:
        async with process.shared.sharing():
            await eventually(lambda: process.exchanges >= 3)
            await eventually(lambda: not process.alone)
        await process.redis.aclose()

    with asyncio.Runner() as runner:  # its loop goes on, so that its socket need not be closed
        runner.run(use_it())
        asyncio.run(share())


async def test_what_is_shared_already_is_not_shared_twice(server: Valkey) -> None:
    process = Process(server.url)
    async with process.shared.sharing():
        with pytest.raises(RuntimeError, match="shared already; leave that block first"):
            async with process.shared.sharing():
                pass
        await exchanged(process)
    async with process.shared.sharing():
        await exchanged(process)
    await process.redis.aclose()


def test_forked_processes_share_each_by_a_name_of_its_own(server: Valkey, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    with valkey(folder) as other:
        told = forking.run("tests.resilience.sharing.forked_sharing", server.url, other.url)
    refusal, parent, *shared = sorted(told)
    assert "these circuits are shared already" in refusal
    assert parent == "parent closed, shared"
    assert len(set(shared)) == 2
