"""Reads a response's body, and knows when the status alone is enough."""

import httpx

from resilience.errors import ResponseTooLarge, UndecodableBody
from resilience.outcome import is_transient_status


async def read_whole(response: httpx.Response) -> httpx.Response:
    """Return the response with its body read.

    A transient status (5xx, 408, 429) speaks for itself: where its body is too large, cannot be
    decoded or ends before its end, the response is returned with an empty one, so that it is
    retried and judged as what it is.

    Raises:
        ResponseTooLarge, UndecodableBody, httpx.TransportError: The body of any other response.
    """
    try:
        await response.aread()
    except (ResponseTooLarge, httpx.DecodingError, httpx.TransportError) as error:
        await response.aclose()
        if is_transient_status(response.status_code):
            return _without_body(response)
        if isinstance(error, httpx.DecodingError):
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
    return httpx.Response(response.status_code, headers=kept, request=response.request)
