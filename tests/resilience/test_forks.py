"""A client that was made before its process forked."""

import asyncio
from random import Random

import pytest

from resilience import ResilientClient, Source
from tests.resilience import forking
from tests.resilience.peers import uvicorn_peer

pytestmark = pytest.mark.integration


async def app(scope: dict[str, object], _receive: object, send: object) -> None:
    """Answer with 200, /slow after a while."""
    assert callable(send)
    if scope["path"] == "/slow":
        await asyncio.sleep(1)
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    )
    await send({"type": "http.response.body", "body": b"ok"})


def told_by(case: str) -> list[str]:
    with uvicorn_peer(app) as url:
        return forking.run("tests.resilience.forked_clients", case, url)


def test_forked_processes_do_not_share_jitter() -> None:
    waits = told_by("jitter")
    assert len(waits) == 9
    assert len(set(waits)) == 9


def test_a_seeded_generator_is_left_as_it_is_where_nothing_forks() -> None:
    seeded = Random(7)
    ResilientClient([Source(name="s", base_url="http://s.test")], random=seeded)
    assert seeded.getstate() == Random(7).getstate()


def test_a_client_that_is_idle_when_its_process_forks_serves_parent_and_child() -> None:
    assert told_by("idle") == ["200 200 200 200"] * 4


def test_a_client_that_is_in_use_when_its_process_forks_stays_the_parents() -> None:
    told = told_by("busy")
    assert told[:2] == ["200 200 200 200", "None"]  # one of the child's own; closing does no harm
    assert told[2].startswith("RuntimeError: the client was in use when this process was forked")
    assert "make a client in the child" in told[2]
    assert told[3] == "parent [200, 200, 200, 200] 200 200 200 200"


def test_forked_processes_trace_their_calls_apart() -> None:
    traces = " ".join(told_by("spans")).split()
    assert len(set(traces)) == len(traces) == 12
