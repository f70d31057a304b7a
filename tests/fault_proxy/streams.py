"""Random byte streams through a proxy, both ways: `python -m tests.fault_proxy.streams`.

Each stream is a connection whose two ends send bytes at random moments, in writes of random sizes,
and end their direction (FIN) before, while or after the other sends: bytes of any kind, pipelined
HTTP/1.1 in every framing, the same with bytes flipped, cut off or followed by another protocol.
What arrives at each end must be what the other sent. `--streams` (100,000) says how many, `--seed`
which.
"""

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import uvloop

from fault_proxy import Proxy
from tests.fault_proxy.peers import Peer, Upstream

LARGEST_BYTES = 1_000_000
AT_ONCE = 8
PATIENCE_S = 120.0
_NOISE = random.Random(0).randbytes(2 * LARGEST_BYTES)
_METHODS = ("GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE")


@dataclass(frozen=True, slots=True)
class Stream:
    """What each end sends, and whether the server waits for the end of the client's stream."""

    kind: str
    requests: bytes
    replies: bytes
    replies_at_end: bool


def any_stream(chance: random.Random) -> Stream:
    """Return a random stream."""
    make = chance.choice((_raw, _http, _http, _flipped, _cut_off, _switched))
    requests, replies = make(chance)
    return Stream(make.__name__.strip("_"), requests, replies, chance.random() < 0.3)


async def passes(proxy: Proxy, upstream: Upstream, stream: Stream, chance: random.Random) -> bool:
    """Send *stream* through and tell whether it arrived unchanged at both ends."""
    client = await Peer.connect(proxy.address)
    server = await upstream.accept()
    try:
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as ends:
            ends.create_task(_send(client, stream.requests, random.Random(chance.random())))
            at_server = ends.create_task(server.receive_all(PATIENCE_S))
            at_client = ends.create_task(client.receive_all(PATIENCE_S))
            if stream.replies_at_end:
                await asyncio.wait({at_server})
            await _send(server, stream.replies, chance)
    finally:
        client.close()
        server.close()
    return (at_server.result(), at_client.result()) == (stream.requests, stream.replies)


async def _send(end: Peer, data: bytes, chance: random.Random) -> None:
    largest = chance.choice((40, 1_500, 70_000, LARGEST_BYTES))
    largest = max(largest, len(data) // 50)  # not too many writes
    position = 0
    while position < len(data):
        size = chance.randint(1, largest)
        await end.send(data[position : position + size])
        position += size
        if chance.random() < 0.2:
            await asyncio.sleep(0)
    end.end()


def _noise(chance: random.Random, largest: int = LARGEST_BYTES) -> bytes:
    """Return bytes whose number is even on a logarithmic scale, from 0."""
    size = int(largest ** chance.random()) - 1 if chance.random() < 0.98 else largest
    start = chance.randrange(len(_NOISE) - size)
    return _NOISE[start : start + size]


def _raw(chance: random.Random) -> tuple[bytes, bytes]:
    return _noise(chance), _noise(chance)


def _http(chance: random.Random) -> tuple[bytes, bytes]:
    pairs = [_exchange(chance) for _ in range(chance.randint(1, 12))]
    requests, replies = (b"".join(messages) for messages in zip(*pairs, strict=True))
    if chance.random() < 0.2:
        replies += b"HTTP/1.1 200 OK\r\n\r\n" + _noise(chance)  # until it closes
        requests += b"GET /last HTTP/1.0\r\n\r\n"
    return requests, replies


def _flipped(chance: random.Random) -> tuple[bytes, bytes]:
    return _flip(_http(chance), chance)


def _flip(streams: tuple[bytes, bytes], chance: random.Random) -> tuple[bytes, bytes]:
    flipped = [bytearray(stream) for stream in streams]
    for stream in flipped:
        for _ in range(chance.randint(0, 3)):
            stream[chance.randrange(len(stream))] = chance.randrange(256)
    return bytes(flipped[0]), bytes(flipped[1])


def _cut_off(chance: random.Random) -> tuple[bytes, bytes]:
    requests, replies = _http(chance)
    return requests[: chance.randrange(len(requests))], replies[: chance.randrange(len(replies))]


def _switched(chance: random.Random) -> tuple[bytes, bytes]:
    requests, replies = _http(chance)
    upgrade = b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n"
    agrees = b"HTTP/1.1 101 Switching Protocols\r\n" if chance.random() < 0.7 else _length_0()
    return (
        requests + b"GET /chat HTTP/1.1\r\nHost: a\r\n" + upgrade + _noise(chance),
        replies + agrees + upgrade + _noise(chance),
    )


def _length_0() -> bytes:
    return b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n"


def _exchange(chance: random.Random) -> tuple[bytes, bytes]:
    method = chance.choice(_METHODS)
    request = b"%s /%x HTTP/1.1\r\nHost: a\r\n" % (method.encode(), chance.getrandbits(64))
    request += chance.choice((_without_body, _with_length, _chunked))(chance)
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" if chance.random() < 0.1 else b""
    if method == "HEAD":
        return request, interim + b"HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n"
    if chance.random() < 0.1:
        return request, interim + b"HTTP/1.1 304 Not Modified\r\nContent-Length: 17\r\n\r\n"
    framed: Callable[[random.Random], bytes] = chance.choice((_with_length, _chunked))
    return request, interim + b"HTTP/1.1 200 OK\r\nserver:  a\r\n" + framed(chance)


def _without_body(_: random.Random) -> bytes:
    return b"\r\n"


def _with_length(chance: random.Random) -> bytes:
    body = _noise(chance, 50_000)
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def _chunked(chance: random.Random) -> bytes:
    chunks = [_noise(chance, 5_000) for _ in range(chance.randint(0, 5))]
    framed = [
        b"%x%s\r\n" % (len(chunk), chance.choice((b"", b";a=b"))) + chunk
        for chunk in chunks
        if chunk
    ]
    return b"Transfer-Encoding: chunked\r\n\r\n" + b"\r\n".join((*framed, b"0\r\n\r\n"))


async def run(
    count: int, seed: int, prepare: Callable[[Proxy], None] = lambda _: None
) -> Counter[str]:
    """Send *count* streams and return how many there were of each kind.

    Raises:
        AssertionError: one did not arrive unchanged; the message says how to make it again.
    """
    numbers = iter(range(count))
    kinds: Counter[str] = Counter()

    async def work() -> None:
        upstream = Upstream()
        async with Proxy("127.0.0.1:0", upstream.address, seed=seed) as proxy:
            prepare(proxy)
            for number in numbers:
                chance = random.Random(f"{seed} {number}")
                stream = any_stream(chance)
                if not await passes(proxy, upstream, stream, chance):
                    raise AssertionError(f"stream {number} of seed {seed} ({stream.kind}) changed")
                kinds[stream.kind] += 1
        upstream.close()

    async with asyncio.TaskGroup() as workers:
        for _ in range(AT_ONCE):
            workers.create_task(work())
    return kinds


def main(argv: Sequence[str] | None = None) -> None:
    """Run as a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args(argv)
    started_s = time.perf_counter()
    kinds = uvloop.run(run(arguments.streams, arguments.seed))
    took_s = time.perf_counter() - started_s
    sys.stdout.write(f"{kinds.total():,} streams unchanged in {took_s:.0f} s: {dict(kinds)}\n")


if __name__ == "__main__":
    main()
