"""A client of one source, for tests of what lies between them."""

import asyncio
from random import Random

from resilience import Policies, ResilientClient, RetrySettings, Source
from tests.resilience.peers import read_request

AT_ONCE = RetrySettings(max_retries=2, base_delay_s=0)


def client_of(url: str, policies: Policies | None = None, **settings: object) -> ResilientClient:
    source = Source(name="s", base_url=url, policies=policies)
    return ResilientClient([source], random=Random(1), **settings)  # type: ignore[arg-type]


async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the first request of a connection with 200."""
    await read_request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    await writer.drain()
