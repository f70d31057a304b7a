import asyncio
import fcntl
import resource
import socket
from collections.abc import Iterator
from random import Random

import httpx
import pytest

from resilience import Policies, ResilientClient, RetrySettings, Source
from resilience.testing import VirtualClockLoop


@pytest.mark.virtual_clock
async def test_an_hour_of_virtual_time_passes_at_once() -> None:
    await asyncio.sleep(3600)

    assert asyncio.get_running_loop().time() == 3600


@pytest.fixture
def many_files() -> Iterator[int]:
    """Let the process have more files than `select` takes; return the first number beyond."""
    beyond = 1024
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    yield beyond
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, most))


def test_it_runs_in_a_process_with_more_than_a_thousand_open_files(many_files: int) -> None:
    async def receive() -> tuple[bytes, float]:
        loop = asyncio.get_running_loop()
        one, other = socket.socketpair()
        with one, other, socket.socket(fileno=fcntl.fcntl(other, fcntl.F_DUPFD, many_files)) as far:
            far.setblocking(False)
            loop.call_later(1, one.send, b"ok")
            return await loop.sock_recv(far, 2), loop.time()

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        assert runner.run(receive()) == (b"ok", 1)


@pytest.mark.parametrize("polls", [True, False])
def test_a_test_that_waits_for_ever_is_an_error_and_not_a_hang(*, polls: bool) -> None:
    ended = []

    async def wait_for_what_never_comes() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")

    with (
        pytest.raises(RuntimeError, match="every task waits and no timer is set"),
        asyncio.Runner(loop_factory=lambda: VirtualClockLoop(polls=polls)) as runner,
    ):
        runner.run(wait_for_what_never_comes())
    assert ended == ["cleaned up"]


def test_a_client_waits_on_it_to_the_second() -> None:
    answers = iter([httpx.Response(503, headers={"Retry-After": "30"}), httpx.Response(500)])
    transport = httpx.MockTransport(lambda _: next(answers, httpx.Response(200)))
    retry = RetrySettings(max_retries=2, base_delay_s=2, jitter=False)
    source = Source(name="s", base_url="http://s.test", policies=Policies(retry=retry))

    async def call() -> tuple[int, float]:
        async with ResilientClient([source], random=Random(1), transport=transport) as client:
            response = await client.get("s", "/")
        return response.status_code, asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        assert runner.run(call()) == (200, 34.0)
