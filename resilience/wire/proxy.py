"""A proxy between the client and its sources."""

from base64 import b64encode

import httpx

from resilience.checks.kinds import expect
from resilience.wire.request_copy import with_headers

_LIKE = "write it like http://user:password@proxy.example:3128"


def proxy_at(url: str) -> httpx.Proxy:
    """Return the proxy at `url`; its credentials stay out of messages.

    Raises:
        TypeError: The URL is no text.
        ValueError: It is no http(s) URL with a host.
    """
    expect("proxy", url, str, _LIKE)
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        raise ValueError(f"proxy is no URL; {_LIKE}") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        without = parsed.copy_with(userinfo=b"")
        raise ValueError(f"proxy must be an http(s) URL with a host, got {str(without)!r}; {_LIKE}")
    headers = {}
    if parsed.userinfo:
        credentials = f"{parsed.username}:{parsed.password}".encode()
        headers["Proxy-Authorization"] = f"Basic {b64encode(credentials).decode('ascii')}"
    return httpx.Proxy(parsed.copy_with(userinfo=b""), headers=headers)


async def with_credentials(request: httpx.Request, credentials: str) -> httpx.Request:
    """Return a copy of the request to send through a proxy that asks for these credentials.

    Others than the proxy never see them: whoever shares the request may show it.
    """
    headers = request.headers.copy()
    headers["Proxy-Authorization"] = credentials
    return await with_headers(request, headers)
