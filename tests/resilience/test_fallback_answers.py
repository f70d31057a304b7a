"""What a fallback may answer with: a response that is read, open, shared or the failure itself."""

import asyncio
from collections.abc import AsyncIterator, Callable
from random import Random

import httpx
import pytest

from resilience import (
    BulkheadFull,
    BulkheadSettings,
    Fallback,
    FallbackFailed,
    FallbackUsed,
    Policies,
    ResilientClient,
    Source,
)
from resilience.fallback import Failure
from tests.resilience.script import Script, Told

pytestmark = pytest.mark.virtual_clock


class Body(httpx.AsyncByteStream):
    """A body that knows whether it has been closed."""

    def __init__(self, *, pause_s: float = 0, breaks: bool = False) -> None:
        self.closed = False
        self._pause_s = pause_s
        self._breaks = breaks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b'{"sky": '
        await asyncio.sleep(self._pause_s)
        if self._breaks:
            raise httpx.ReadError("reset")
        yield b'"grey"}'

    async def aclose(self) -> None:
        """Note it."""
        self.closed = True


class Opened:
    """Answers with `status` and an open body, as `AsyncClient.send(…, stream=True)` does."""

    def __init__(self, status: int, make_body: Callable[[], Body] = Body) -> None:
        self.bodies: list[Body] = []
        self._status = status
        self._make_body = make_body

    async def __call__(self, *_: object) -> httpx.Response:
        """Open one more."""
        self.bodies.append(self._make_body())
        return httpx.Response(self._status, stream=self.bodies[-1])


def client_of(fallback: Fallback, source: Opened, slots: int = 9) -> ResilientClient:
    policies = Policies(
        fallback=fallback, bulkhead=BulkheadSettings(max_concurrent=slots, max_queue=0)
    )
    weather = Source(name="weather", base_url="http://weather.test", policies=policies)
    return ResilientClient([weather], random=Random(1), transport=httpx.MockTransport(source))


def always(_outcome: Failure) -> bool:
    return True


async def test_an_open_answer_is_read_for_a_call_that_wants_the_whole_body() -> None:
    mirror = Opened(200)
    async with client_of(Fallback(answer=mirror), Opened(503)) as client:
        assert (await client.get("weather", "/")).json() == {"sky": "grey"}
        assert await client.get_json("weather", "/", as_type=dict) == {"sky": "grey"}
    assert [body.closed for body in mirror.bodies] == [True, True]


@pytest.mark.parametrize(
    ("make_body", "error"),
    [(lambda: Body(breaks=True), httpx.ReadError), (lambda: Body(pause_s=9), TimeoutError)],
    ids=["breaks off", "is slow"],
)
async def test_an_answer_whose_body_fails_is_a_failed_fallback_and_closed(
    make_body: Callable[[], Body], error: type[Exception]
) -> None:
    mirror = Opened(200, make_body)
    told = Told(Policies(fallback=Fallback(answer=mirror, limit_s=0.5)))
    assert (await told.run(Script(503))).status_code == 503
    (failed,) = told.heard(FallbackFailed)
    assert isinstance(failed.error, error)
    assert asyncio.get_running_loop().time() <= 0.5
    assert mirror.bodies[0].closed


async def test_an_open_answer_is_streamed_and_closed_when_the_block_is_left() -> None:
    mirror = Opened(200)
    async with client_of(Fallback(answer=mirror), Opened(503)) as client:
        async with client.stream("GET", "weather", "/") as response:
            assert [part async for part in response.aiter_bytes()] == [b'{"sky": ', b'"grey"}']
        async with client.stream("GET", "weather", "/"):
            assert not mirror.bodies[1].closed
        assert [body.closed for body in mirror.bodies] == [True, True]


async def test_a_failing_answer_is_read_at_once_in_a_stream_too() -> None:
    mirror = Opened(500)
    async with (
        client_of(Fallback(answer=mirror), Opened(503)) as client,
        client.stream("GET", "weather", "/") as response,
    ):
        assert (response.status_code, response.content) == (500, b'{"sky": "grey"}')


async def test_a_failure_that_is_answered_with_itself_is_handed_out_open_and_keeps_its_slot() -> (
    None
):
    source = Opened(206)
    itself = Fallback(answer=lambda _request, failure: failure, when=always)  # type: ignore[arg-type,return-value]
    async with client_of(itself, source, slots=1) as client:
        async with client.stream("GET", "weather", "/") as response:
            assert (response.status_code, source.bodies[0].closed) == (206, False)
            with pytest.raises(BulkheadFull):
                await client.get("weather", "/")
            assert await response.aread() == b'{"sky": "grey"}'
        assert (await client.get("weather", "/")).status_code == 206


async def test_one_response_kept_for_all_calls_is_not_changed_and_each_caller_has_its_own() -> None:
    kept = httpx.Response(
        203, headers={"age": "9"}, json={"sky": "blue"}, extensions={"mirror": "b"}
    )
    async with client_of(Fallback(answer=lambda _request, _failure: kept), Opened(503)) as client:
        one = await client.get("weather", "/one")
        two = await client.get("weather", "/two")
        async with client.stream("GET", "weather", "/three") as three:
            assert [part async for part in three.aiter_bytes()] == [kept.content]
    one.headers["age"] = "0"
    assert [answer.url.path for answer in (one, two, three)] == ["/one", "/two", "/three"]
    for answer in (two, three):
        assert (answer.status_code, answer.headers) == (203, kept.headers)
        assert (answer.json(), answer.extensions) == ({"sky": "blue"}, {"mirror": "b"})
    assert kept.headers["age"] == "9"
    with pytest.raises(RuntimeError, match="request instance has not been set"):
        _ = kept.request


def got_by_a_blocking_client() -> httpx.Response:
    mirror = httpx.MockTransport(lambda _: httpx.Response(203, content=b"kept"))
    with httpx.Client(transport=mirror) as client:
        return client.get("http://mirror.test/")


async def test_a_response_of_a_blocking_client_may_be_streamed_once_it_is_read() -> None:
    kept = got_by_a_blocking_client()
    async with (
        client_of(Fallback(answer=lambda _request, _failure: kept), Opened(503)) as client,
        client.stream("GET", "weather", "/") as response,
    ):
        assert await response.aread() == b"kept"


def closed_unread() -> httpx.Response:
    closed = httpx.Response(200, stream=Body())
    closed.is_closed = True
    return closed


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: {"sky": "?"}, r"^the fallback's answer .* got {'sky': '\?'} \(dict\); return an"),
        (lambda: None, r"^the fallback's answer .* got None \(NoneType\); return an httpx\.Resp"),
        (lambda: Policies, r"^the fallback's answer .*; return an httpx\.Response$"),
        (lambda: httpx.Response(200, content=iter([b"x"])), r"^the answer's stream .*; read"),
        (closed_unread, r"^the fallback's answer was closed unread; read it, or leave it open"),
    ],
    ids=["dict", "None", "class", "blocking stream", "closed"],
)
@pytest.mark.parametrize("streams", [False, True])
async def test_what_nobody_can_read_is_a_failed_fallback_that_says_what_to_return(
    make: Callable[[], httpx.Response], message: str, *, streams: bool
) -> None:
    told: list[object] = []
    fallback = Fallback(answer=lambda _request, _failure: make())
    async with client_of(fallback, Opened(503)) as client:
        client.subscribe(told.append, [FallbackFailed, FallbackUsed])
        if streams:
            async with client.stream("GET", "weather", "/") as response:
                assert (response.status_code, response.content) == (503, b'{"sky": "grey"}')
        else:
            assert (await client.get("weather", "/")).status_code == 503
    (failed,) = told
    assert isinstance(failed, FallbackFailed)
    with pytest.raises((TypeError, ValueError), match=message):
        raise failed.error


async def test_the_original_error_stands_where_the_answer_is_no_response() -> None:
    told = Told(Policies(fallback=Fallback(answer=lambda _request, _failure: {"sky": "?"})))  # type: ignore[arg-type,return-value]
    with pytest.raises(httpx.ReadError, match="reset") as raised:
        await told.run(Script(httpx.ReadError("reset")))
    assert "return an httpx.Response" in raised.value.__notes__[0]


async def test_a_call_cancelled_as_its_replaced_stream_is_closed_leaves_no_answer_open() -> None:
    class SlowToClose(Body):
        async def aclose(self) -> None:
            await asyncio.sleep(1)

    mirror = Opened(200)
    fallback = Fallback(answer=mirror, when=always)
    async with client_of(fallback, Opened(206, SlowToClose)) as client:

        async def read() -> None:
            async with client.stream("GET", "weather", "/"):
                raise AssertionError("the block runs after a cancellation")

        call = asyncio.create_task(read())
        await asyncio.sleep(0.5)
        call.cancel()
        await asyncio.wait([call])
    assert call.cancelled()
    assert mirror.bodies[0].closed


async def test_a_replaced_stream_that_fails_to_close_costs_nobody_the_answer() -> None:
    class FailsToClose(Body):
        async def aclose(self) -> None:
            raise httpx.CloseError("reset")

    told = Told(Policies(fallback=Fallback(answer=Opened(203), when=always)))
    script = Script(lambda: httpx.Response(206, stream=FailsToClose()))
    assert (await told.run(script)).status_code == 203
