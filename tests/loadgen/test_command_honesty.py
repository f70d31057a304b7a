"""`python -m loadgen` where its figures would be its own: stalls, limits of its own, interrupts."""

import asyncio
import csv
import json
import os
import resource
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.loadgen import zoo
from tests.loadgen.scripted_server import json_reply, scripted_server
from tests.loadgen.zoo import badly_behaved

pytestmark = pytest.mark.integration
OK = json_reply("{}")
WITHIN_S = 40


@asynccontextmanager
async def loadgen(
    *arguments: str, before: Callable[[], None] | None = None
) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "loadgen", *arguments, "-q"),
        stdout=PIPE,
        stderr=PIPE,
        preexec_fn=before,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def finish(process: Process) -> tuple[int | None, str, str]:
    """Return the exit code and what was printed."""
    out, err = await asyncio.wait_for(process.communicate(), WITHIN_S)
    return process.returncode, out.decode(), err.decode()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not holds():  # noqa: ASYNC110 - a server's list has no event
            await asyncio.sleep(0.01)


async def stop_for(seconds: float, pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    await asyncio.sleep(seconds)
    os.kill(pid, signal.SIGCONT)


def children(pid: int) -> list[int]:
    return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


LOADS = [
    ("--rate", "100/s", "--until", "3s"),
    ("--rate", "50/s", "--ramp-to", "150/s", "--until", "3s"),
    ("-c", "2", "--until", "3s"),
]


@pytest.mark.parametrize("load", LOADS, ids=["open", "ramp", "closed"])
async def test_a_generator_that_stood_still_says_so(load: tuple[str, ...]) -> None:
    async with (
        scripted_server(lambda _: OK, delay_s=0.005) as server,
        loadgen(server.url, *load) as process,
    ):
        await until(lambda: len(server.requests) > 50)
        await stop_for(1, process.pid)
        exit_code, out, err = await finish(process)

    assert exit_code == 3
    assert "these are figures of the generator and not of the target: " in out
    assert "its event loop stood still" in out
    assert (
        err
        == "loadgen: these are figures of the generator and not of the target, so no valid data\n"
    )


async def test_stalls_that_come_again_and_again_are_seen() -> None:
    async with (
        scripted_server(lambda _: OK) as server,
        loadgen(server.url, "--rate", "100/s", "--until", "4s", "--json") as process,
    ):
        await until(lambda: len(server.requests) > 10)
        for _ in range(2):
            await stop_for(0.2, process.pid)
            await asyncio.sleep(1)
        exit_code, out, _ = await finish(process)
    report = json.loads(out)["generator"]

    assert exit_code == 3
    assert report["stalls"] >= 2
    assert report["stalled_s"] >= 0.36
    assert report["loop_lag_p99_ms"] >= 100


async def test_a_stall_after_the_last_request_was_sent_is_seen() -> None:
    """The reply is there while the generator is not: it would count as a slow one."""
    async with (
        scripted_server(lambda _: OK, delay_s=0.3) as server,
        loadgen(server.url, "-n", "3", "-c", "1") as process,
    ):
        await until(lambda: len(server.requests) == 3)
        await stop_for(1, process.pid)
        exit_code, out, _ = await finish(process)

    assert exit_code == 3
    assert "its event loop stood still" in out


async def test_one_process_of_several_that_stands_still_spoils_the_load() -> None:
    async with (
        scripted_server(lambda _: OK, delay_s=0.005) as server,
        loadgen(server.url, "--rate", "100/s", "--until", "3s", "--processes", "2") as process,
    ):
        await until(lambda: len(server.requests) > 20)
        await stop_for(1, children(process.pid)[0])
        exit_code, out, _ = await finish(process)

    assert exit_code == 3
    assert "its event loop stood still" in out


async def test_a_comparison_of_which_one_load_stood_still_is_no_valid_data() -> None:
    async with scripted_server(lambda _: OK, delay_s=0.005) as server:
        pair = (server.url, "--against", server.url, "--rounds", "1")
        async with loadgen(*pair, "-c", "2", "--until", "2s") as process:
            await until(lambda: len(server.requests) > 20)
            await stop_for(1, process.pid)
            exit_code, out, _ = await finish(process)

    assert exit_code == 3
    assert "its event loop stood still" in out


def _with_few_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


@pytest.mark.parametrize("amount", [("-n", "200"), ("--rate", "5000/s", "-n", "200")])
async def test_too_few_descriptors_are_not_an_error_of_the_target(amount: tuple[str, ...]) -> None:
    async with scripted_server(lambda _: OK, delay_s=0.2) as server:
        arguments = (server.url, *amount, "-c", "100", "--json")
        async with loadgen(*arguments, before=_with_few_files) as process:
            exit_code, out, _ = await finish(process)
        document = json.loads(out)
        counts = {name: each["count"] for name, each in document["classes"].items()}

        assert exit_code == 3
        assert counts["ok"] == len(server.requests)
    assert counts["error"] == 0
    assert counts["generator_error"] > 0
    assert sum(counts.values()) == document["requests"] == 200
    assert document["classes"]["generator_error"]["max_ms"] is None
    assert document["limits"][0] == (
        f"it could not send {counts['generator_error']} of 200 requests: too many open files "
        "(limit 64); raise ulimit -n or use fewer connections"
    )


async def test_too_few_descriptors_for_the_generator_itself_are_refused() -> None:
    def with_hardly_any_files() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))

    async with loadgen("http://127.0.0.1:1/", before=with_hardly_any_files) as process:
        exit_code, out, err = await finish(process)

    assert (exit_code, out) == (2, "")
    assert err == (
        "loadgen: the limit on open files is 12, and the generator needs 32; raise ulimit -n\n"
    )


async def test_a_soft_limit_on_descriptors_is_raised_to_the_hard_one() -> None:
    def with_a_low_soft_limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 256))

    async with scripted_server(lambda _: OK, delay_s=0.2) as server:
        arguments = (server.url, "-n", "100", "-c", "100", "--json")
        async with loadgen(*arguments, before=with_a_low_soft_limit) as process:
            _, out, _ = await finish(process)

    assert json.loads(out)["classes"]["ok"]["count"] == 100


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("processes", ["1", "2"])
async def test_an_interrupt_shows_what_was_sent_and_not_answered(
    tmp_path: Path, number: signal.Signals, processes: str
) -> None:
    rows, served = tmp_path / "rows.csv", []

    async def counting(guest: zoo.Guest) -> None:
        served.append(await guest.request())
        await zoo.never_answers(guest)

    async with badly_behaved(counting) as url:
        arguments = (url, "-n", "100", "-c", "22", "--processes", processes, "--csv", str(rows))
        async with loadgen(*arguments, "--json") as process:
            await until(lambda: len(served) == 22)
            process.send_signal(number)
            exit_code, out, err = await finish(process)
    document = json.loads(out)

    assert exit_code == 130
    assert (document["requests"], document["unanswered"], document["waiting"]) == (0, 22, 0)
    assert err == "loadgen: interrupted; the figures are of the 0 requests that had ended\n"
    with rows.open(encoding="utf-8", newline="") as file:
        found = [(row["outcome"], row["finished_s"]) for row in csv.DictReader(file)]
    assert found == [("unanswered", "")] * 22


async def test_an_interrupted_open_load_tells_sent_requests_from_waiting_ones() -> None:
    async with (
        badly_behaved(zoo.never_answers) as url,
        loadgen(url, "--rate", "1000/s", "--until", "1min", "-c", "3", "--json") as process,
    ):
        await asyncio.sleep(2)
        process.send_signal(signal.SIGINT)
        _, out, _ = await finish(process)
    document = json.loads(out)

    assert document["unanswered"] == 3
    assert document["waiting"] > 0
    assert document["generator"]["queued"] > 0


@pytest.mark.parametrize("load", [("-n", "9"), ("--rate", "9/s", "--until", "9s")])
async def test_an_interrupted_warm_up_has_no_figures(load: tuple[str, ...]) -> None:
    async with (
        scripted_server(lambda _: OK) as server,
        loadgen(server.url, *load, "--warmup", "1h") as process,
    ):
        await until(lambda: bool(server.requests))
        process.send_signal(signal.SIGINT)
        exit_code, out, err = await finish(process)

    assert (exit_code, out) == (130, "")
    assert err == "loadgen: interrupted before there were any figures\n"


@pytest.mark.parametrize(
    ("load", "requests", "per_s"),
    [
        (("--rate", "1/s", "--until", "2s"), 2, 1.0),
        (("--rate", "10/s", "--until", "1s"), 10, 10.0),
        (("--rate", "10/s", "-n", "5"), 5, 10.0),
        (("--rate", "5/s", "--ramp-to", "15/s", "--until", "1s"), 10, 10.0),
        (("--rate", "10/s", "--until", "1s", "--processes", "3"), 10, 10.0),
        (("--rate", "10/s", "--until", "1s", "--warmup", "300ms"), 10, 10.0),
    ],
)
async def test_an_open_load_has_the_rate_that_was_sent(
    load: tuple[str, ...], requests: int, per_s: float
) -> None:
    async with (
        scripted_server(lambda _: OK, delay_s=0.05) as server,
        loadgen(server.url, *load, "--json") as process,
    ):
        _, out, _ = await finish(process)
    document: dict[str, Any] = json.loads(out)

    assert document["requests"] == requests
    assert document["requests_per_s"] == pytest.approx(per_s)


async def test_drawn_gaps_have_the_rate_of_what_was_drawn() -> None:
    async with scripted_server(lambda _: OK) as server:
        load = ("--rate", "20/s", "--until", "1s", "--poisson", "--seed", "3", "--json")
        async with loadgen(server.url, *load) as process:
            _, out, _ = await finish(process)

        assert json.loads(out)["requests_per_s"] == pytest.approx(len(server.requests))


async def test_a_comparison_has_the_rate_that_was_sent() -> None:
    async with scripted_server(lambda _: OK, delay_s=0.2) as server:
        load = ("--rate", "10/s", "--until", "500ms", "--rounds", "1", "--json")
        async with loadgen(server.url, "--against", server.url, *load) as process:
            _, out, _ = await finish(process)
    [pair] = json.loads(out)["rounds"]

    assert [pair[side]["requests_per_s"] for side in ("a", "b")] == pytest.approx([10, 10])
