"""The proxy tells what it did itself to its clients: it stood still, it had no files left."""

import asyncio
import errno
import os
import resource
import signal
import socket

import httpx
import pytest

from fault_proxy.counts import own_want
from fault_proxy.watch import LOOK_EVERY_S, Watch
from lab.faults.descriptors import limit_for
from resilience.testing import VirtualClockLoop
from tests.fault_proxy.peers import echo, serving
from tests.fault_proxy.test_command import Running, running


@pytest.mark.parametrize(
    ("lates_s", "stalled_s"),
    [([], 0), ([0.09] * 10, 0), ([0.1], 0.1), ([0.7, 0.3, 0.01], 1)],
    ids=["none", "busy machine", "shortest", "two"],
)
def test_looks_that_are_100_ms_late_or_later_are_stalls(
    lates_s: list[float], stalled_s: float
) -> None:
    async def watched(loop: VirtualClockLoop) -> float:
        watch = Watch(loop)
        for late_s in lates_s:
            await asyncio.sleep(3.5 * LOOK_EVERY_S)
            loop.now_s += LOOK_EVERY_S / 2 + late_s + 1e-6  # when the next look is due, and later
        await asyncio.sleep(1)
        watch.stop()
        return watch.stalled_s()

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualClockLoop)
        assert runner.run(watched(loop)) == pytest.approx(stalled_s, abs=1e-4)


def test_a_stall_is_told_before_the_look_that_it_held_up() -> None:
    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualClockLoop)
        watch = Watch(loop)
        loop.now_s += LOOK_EVERY_S + 0.7
        assert watch.stalled_s() == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("number", "want"),
    [
        (errno.EMFILE, "too many open files"),
        (errno.ENFILE, "too many open files on this machine"),
        (errno.ENOBUFS, "no buffer space"),
        (errno.ENOMEM, "no memory"),
        (errno.EADDRNOTAVAIL, "no free local port"),
        (errno.ECONNREFUSED, ""),
        (errno.EHOSTUNREACH, ""),
    ],
)
def test_what_the_proxy_lacks_is_told_from_what_the_server_does(number: int, want: str) -> None:
    assert own_want(OSError(number, os.strerror(number))) == want
    assert not own_want(socket.gaierror(number, "a look-up has numbers of its own"))


def _leave_files(proxy: Running, spare: int) -> None:
    """Let the proxy open so many files more."""
    pid = proxy.process.pid
    numbers = frozenset(int(name) for name in os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208
    limit = limit_for(numbers, spare)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, limit))


@pytest.mark.integration
async def test_a_client_that_waits_as_the_proxy_has_no_files_left_is_an_own_failure() -> None:
    async with (
        serving(echo) as upstream,
        running("--upstream", upstream) as proxy,
        httpx.AsyncClient(base_url=proxy.ready["control"]) as control,
    ):
        assert (await control.get("/stats")).json()["ownFailures"] == {}
        _leave_files(proxy, 0)
        async with await proxy.connect():
            await _is_told(control, {"too many open files": 1})


@pytest.mark.integration
async def test_a_client_for_whom_the_proxy_has_no_second_file_is_reset_and_an_own_failure() -> None:
    async with (
        serving(echo) as upstream,
        running("--upstream", upstream) as proxy,
        httpx.AsyncClient(base_url=proxy.ready["control"]) as control,
    ):
        await control.get("/stats")
        _leave_files(proxy, 1)
        with pytest.raises(ConnectionResetError):  # before the connect has returned or after it
            async with await proxy.connect() as client:
                await client.receive_some()
        await _is_told(control, {"too many open files": 1})
        assert (await control.get("/stats")).json()["connections"]["unreachable"] == 0


async def _is_told(control: httpx.AsyncClient, failures: dict[str, int]) -> None:
    while (await control.get("/stats")).json()["ownFailures"] != failures:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


@pytest.mark.integration
async def test_a_proxy_that_is_stopped_tells_for_how_long() -> None:
    async with (
        running("--upstream", "127.0.0.1:1") as proxy,
        httpx.AsyncClient(base_url=proxy.ready["control"]) as control,
    ):
        before_s = (await control.get("/stats")).json()["stalledS"]
        proxy.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(0.7)
        proxy.process.send_signal(signal.SIGCONT)
        after_s = (await control.get("/stats")).json()["stalledS"]

    assert after_s - before_s >= 0.6
