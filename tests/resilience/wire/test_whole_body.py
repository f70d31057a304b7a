"""What is left of a failing response whose body cannot be read."""

from collections.abc import AsyncIterator

import httpx
import pytest

from resilience import UndecodableBody
from resilience._internal.wire.body import read_whole


class Breaks(httpx.AsyncByteStream):
    """A body that ends in an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"half of"
        raise self.error

    async def aclose(self) -> None:
        """Note it."""
        self.closed = True


ERRORS = [httpx.DecodingError("?"), httpx.RemoteProtocolError("cut"), httpx.ReadError("reset")]


def broken(status: int, error: Exception) -> httpx.Response:
    headers = {"retry-after": "7", "content-encoding": "identity", "content-length": "50"}
    request = httpx.Request("GET", "http://rates")
    return httpx.Response(status, headers=headers, stream=Breaks(error), request=request)


@pytest.mark.parametrize("error", ERRORS)
async def test_a_failing_status_stands_without_the_body_and_the_headers_that_describe_it(
    error: Exception,
) -> None:
    response = broken(503, error)
    read = await read_whole(response)
    assert (read.status_code, read.content) == (503, b"")
    assert dict(read.headers) == {"retry-after": "7"}
    assert read.request is response.request
    assert isinstance(response.stream, Breaks)
    assert response.stream.closed


@pytest.mark.parametrize("error", ERRORS)
async def test_any_other_status_is_nothing_without_its_body(error: Exception) -> None:
    response = broken(200, error)
    kind = UndecodableBody if isinstance(error, httpx.DecodingError) else type(error)
    with pytest.raises(kind) as raised:
        await read_whole(response)
    if isinstance(raised.value, UndecodableBody):
        assert raised.value.request is response.request
    assert isinstance(response.stream, Breaks)
    assert response.stream.closed
