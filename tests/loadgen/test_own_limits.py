"""What this side lacks is no error of the target."""

import errno
import os
import socket
import ssl
from pathlib import Path

import pytest

from loadgen import Closed, JsonFieldRule, Load, Request, run_load
from loadgen.failures import advice_on, not_connected, own_want
from loadgen.origins import OriginPool
from tests.loadgen import zoo
from tests.loadgen.scripted_server import json_reply, scripted_server
from tests.loadgen.zoo import badly_behaved

RULE = JsonFieldRule(json_field="source", classes=("fresh",))
OURS = ("EMFILE", "ENFILE", "EADDRNOTAVAIL", "EADDRINUSE", "ENOBUFS", "ENOMEM", "EAGAIN", "EPERM")
THEIRS = ("ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "EPIPE")


def failure(name: str) -> OSError:
    number = getattr(errno, name)
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize("name", OURS)
def test_what_this_side_lacks_is_a_class_of_its_own_with_advice(name: str) -> None:
    ending = not_connected(failure(name))

    assert ending.outcome == "generator_error"
    assert advice_on(ending.error)


@pytest.mark.parametrize("name", THEIRS)
def test_what_the_target_does_is_an_error(name: str) -> None:
    assert not_connected(failure(name)).outcome == "error"


@pytest.mark.parametrize(
    "problem",
    [
        ssl.SSLError(1, "handshake failure"),  # the number of EPERM
        socket.gaierror(socket.EAI_NONAME, "unknown"),
    ],
)
def test_numbers_of_other_lists_are_no_errno(problem: OSError) -> None:
    assert own_want(problem) == ""


def test_a_unix_server_with_a_full_queue_is_not_our_limit() -> None:
    assert own_want(failure("EAGAIN"), is_unix=True) == ""
    assert own_want(failure("EMFILE"), is_unix=True).startswith("too many open files (limit ")


async def test_ports_that_run_out_are_booked_on_the_generator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The system itself is not short of ports, so that its answer is set in for every other one."""
    connect, tried = OriginPool._connect_to, []

    async def connect_or_not(*arguments: object) -> object:
        tried.append(1)
        if len(tried) % 2:
            return await connect(*arguments)  # type: ignore[arg-type] # as it was called
        raise failure("EADDRNOTAVAIL")

    monkeypatch.setattr(OriginPool, "_connect_to", connect_or_not)
    async with scripted_server(lambda _: json_reply('{"source": "fresh"}')) as server:
        samples = await run_load(
            Load(
                requests=(Request(url=server.url),),
                shape=Closed(requests=20, tasks=2),
                outcome=RULE,
                keep_alive=False,
            )
        )
        assert len(server.requests) == samples.outcome.count("fresh") == 10

    assert samples.outcome.count("generator_error") == 10
    assert samples.report is not None
    assert samples.report.unsent == {"no free local port": 10}
    assert samples.report.limits[0].startswith(
        "it could not send 10 of 20 requests: no free local port; keep connections alive"
    )


async def test_an_address_that_this_machine_does_not_have_leaves_the_word_to_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`localhost` is two addresses; without IPv6 the one is "not available", whoever listens."""

    async def refuse(_: object, family: object, *__: object) -> None:
        raise failure("EADDRNOTAVAIL" if family == socket.AF_INET6 else "ECONNREFUSED")

    monkeypatch.setattr(OriginPool, "_connect_to", refuse)
    load = Load(
        requests=(Request(url="http://127.0.0.1:1/"),),
        shape=Closed(requests=1, tasks=1),
        outcome=RULE,
    )

    async def two_addresses(pool: OriginPool) -> None:
        pool._addresses = [(socket.AF_INET, ("127.0.0.1", 1)), (socket.AF_INET6, ("::1", 1))]

    monkeypatch.setattr(OriginPool, "resolve", two_addresses)
    samples = await run_load(load)

    assert samples.error == ["cannot connect: Connection refused"]


async def test_a_reply_that_never_comes_is_still_an_error(tmp_path: Path) -> None:
    async with badly_behaved(zoo.closes_early, path=tmp_path / "x.sock") as url:
        samples = await run_load(
            Load(requests=(Request(url=url),), shape=Closed(requests=2, tasks=1), outcome=RULE)
        )

    assert samples.outcome == ["error"] * 2
