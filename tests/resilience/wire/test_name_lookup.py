"""Names are looked up without holding anybody else up."""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from random import Random

import httpx
import pytest

from resilience import (
    ResilientClient,
    Source,
)
from resilience._internal.wire.connections import OwnThreadResolver
from tests.resilience.peers import scripted_peer
from tests.resilience.wire.one_source import answer_once, client_of


@pytest.fixture
def hanging_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Names that end in .hangs are looked up until the event is set."""
    released = threading.Event()
    ask = socket.getaddrinfo

    def getaddrinfo(host: str, *rest: object, **more: object) -> object:
        if host.endswith(".hangs"):
            released.wait(10)
            raise socket.gaierror(socket.EAI_AGAIN, "try again")
        return ask(host, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield released
    released.set()


async def test_sources_whose_names_hang_leave_others_alone(
    hanging_names: threading.Event,
) -> None:
    sick = [Source(name=f"sick{n}", base_url=f"http://a{n}.hangs") for n in range(40)]
    async with scripted_peer(answer_once) as url:
        well = Source(name="well", base_url=url.replace("127.0.0.1", "localhost"))
        async with ResilientClient([*sick, well], random=Random(1)) as client:
            hung = [asyncio.ensure_future(client.get(each.name, "/")) for each in sick]
            await asyncio.sleep(0.1)
            async with asyncio.timeout(5):
                assert (await client.get("well", "/")).text == "ok"
            hanging_names.set()
            ended = await asyncio.gather(*hung, return_exceptions=True)
    assert {type(error) for error in ended} == {httpx.ConnectError}


async def test_an_unknown_name_is_a_failure_to_connect() -> None:
    async with client_of("http://no-such-host.invalid") as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("s", "/")


async def test_a_name_has_numeric_addresses() -> None:
    resolver = OwnThreadResolver()
    found = await resolver.resolve("localhost", 80, socket.AF_INET)
    await resolver.close()
    assert [(each["host"], each["port"], each["hostname"]) for each in found] == [
        ("127.0.0.1", 80, "localhost")
    ]


def test_a_look_up_that_hangs_keeps_no_process_from_its_end() -> None:
    program = """
import asyncio, socket, threading
socket.getaddrinfo = lambda *_, **__: threading.Event().wait(60)
from random import Random
from resilience import AttemptTimeout, Policies, ResilientClient, Source

async def main():
    policies = Policies(attempt_timeout_s=0.05)
    source = Source(name="s", base_url="http://a.hangs", policies=policies)
    async with ResilientClient([source], random=Random()) as client:
        try:
            await client.get("s", "/")
        except AttemptTimeout:
            print("timed out")

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("timed out\n", "", 0)
