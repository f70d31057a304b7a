"""Reads a response's body, and knows when the status alone is enough."""

from contextlib import suppress

import httpx

from resilience.errors import ResponseTooLarge, StreamIdle, UndecodableBody
from resilience.outcome import is_transient_status

_UNUSABLE = (ResponseTooLarge, StreamIdle, httpx.DecodingError, httpx.TransportError)


async def read_whole(response: httpx.Response) -> httpx.Response:
    """Return the response with its body read.

    A transient status (5xx, 408, 429) speaks for itself: where its body is too large, cannot be
    decoded, falls silent or ends before its end, the response is returned with an empty one, so
    that it is retried and judged as what it is.

    Raises:
        ResponseTooLarge, UndecodableBody, StreamIdle, httpx.TransportError: The body of any other
            response.
    """
    try:
        await response.aread()
    except _UNUSABLE as error:
        await response.aclose()
        if is_transient_status(response.status_code):
            return _without_body(response)
        if isinstance(error, httpx.DecodingError) and not isinstance(error, UndecodableBody):
            undecodable = UndecodableBody(str(error))
            undecodable.request = response.request
            raise undecodable from error
        raise
    except BaseException:
        await response.aclose()
        raise
    return response


def _without_body(response: httpx.Response) -> httpx.Response:
    kept = [
        (name, value)
        for name, value in response.headers.multi_items()
        if name not in {"content-encoding", "content-length", "transfer-encoding"}
    ]
    empty = httpx.Response(response.status_code, headers=kept, request=response.request)
    with suppress(RuntimeError):  # whoever opened the response has not said how long that took
        empty.elapsed = response.elapsed
    return empty
