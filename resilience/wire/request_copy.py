"""A request with other headers."""

import httpx


async def with_headers(request: httpx.Request, headers: httpx.Headers) -> httpx.Request:
    """Return a copy of the request to send with these headers.

    A copy, because attempts, hedges at the same time, fallbacks and event handlers share it.
    """
    sent = httpx.Request(
        request.method,
        request.url,
        headers=headers,
        stream=request.stream,
        extensions=request.extensions,
    )
    if isinstance(request.stream, httpx.ByteStream):
        await sent.aread()  # as the request was: what has no content is sent in chunks
    return sent
