import asyncio
import gc
import random

import pytest

from resilience import AttemptTimeout, Policies, ResilientClient, Source
from tests.resilience.peers import uvicorn_peer

CONNECTIONS = 6
WORKERS = 12
CALLS_EACH = 167  # 2,004 calls together


async def app(scope: dict[str, object], receive: object, send: object) -> None:
    """Answer in two halves, /slow with 10 ms before each; /silent and /half never end."""
    assert callable(send)
    pause_s = 0.01 if scope["path"] == "/slow" else 0
    headers = [(b"content-length", b"2")]
    if scope["path"] == "/silent":
        await hung_up(receive)
        return
    await asyncio.sleep(pause_s)
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"o", "more_body": True})
    if scope["path"] == "/half":
        await hung_up(receive)
        return
    await asyncio.sleep(pause_s)
    await send({"type": "http.response.body", "body": b"k"})


async def hung_up(receive: object) -> None:
    """Wait until the client has gone away."""
    assert callable(receive)
    while (await receive())["type"] != "http.disconnect":
        pass


async def call_and_cancel(client: ResilientClient, after_s: float) -> None:
    task = asyncio.create_task(client.get("slow", "/slow"))
    await asyncio.sleep(after_s)
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize("by", ["the caller", "an attempt time-out"])
async def test_cancelled_calls_leave_every_connection_usable(by: str) -> None:
    """A slot that a cancelled call leaked would make the last calls wait for ever."""
    chance = random.Random(3)
    with uvicorn_peer(app) as url:
        sources = [
            Source(name="slow", base_url=url),
            Source(name="limited", base_url=url, policies=Policies(attempt_timeout_s=0.012)),
        ]
        async with ResilientClient(sources, random=chance, max_connections=CONNECTIONS) as client:

            async def worker() -> None:
                for _ in range(CALLS_EACH):
                    if by == "the caller":
                        await call_and_cancel(client, chance.uniform(0.001, 0.020))
                    else:
                        with pytest.raises(AttemptTimeout):
                            await client.get("limited", chance.choice(["/silent", "/half"]))

            await asyncio.gather(*(worker() for _ in range(WORKERS)))
            together = [client.get("slow", "/fast") for _ in range(CONNECTIONS)]
            async with asyncio.timeout(5):
                responses = await asyncio.gather(*together)
    assert [response.text for response in responses] == ["ok"] * CONNECTIONS
    gc.collect()  # an unclosed connection would warn here, and warnings are errors
