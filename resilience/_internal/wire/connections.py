"""How connections are made: their settings, the proxy, and the look-up of host names."""

import asyncio
import math
import socket
import ssl
from base64 import b64encode
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Thread
from typing import Self

import httpx
from aiohttp.abc import AbstractResolver, ResolveResult

from resilience._internal.checks import DAY_S, expect, outside, refuse

DEFAULT_MAX_CONNECTIONS = 100
DEFAULT_MAX_RESPONSE_BYTES = 10_000_000
DEFAULT_MAX_HEADER_BYTES = 102_400 + 65_536  # httpx: while incomplete, and what its last read adds
DEFAULT_KEEPALIVE_S = 4.0  # servers often close idle connections after 5 s: be first
DEFAULT_MAX_CONNECTION_AGE_S = 120.0  # a busy connection never resolves its host again: close it

_HEADER_BYTES = (1_000, 10_000_000)
_PROXY_LIKE = "write it like http://user:password@proxy.example:3128"
_NUMERIC = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV

Addresses = list[ResolveResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """How many connections there are, how long they live, and through which proxy they go.

    Attributes:
        max_connections: Open connections, all hosts together, 1..65535; more requests wait.
            Requests that must not wait here wait for a slot before: see `Pipeline`.
        max_response_bytes: Largest decoded body, in bytes.
        max_header_bytes: Largest status line and headers together, in bytes, 1 kB..10 MB.
        keepalive_s: How long an idle connection is kept, in seconds.
        max_connection_age_s: How long after its first request a connection is still used, in
            seconds; a new one resolves the host's name again.
        ssl_context: For https; None trusts the usual authorities, or those of SSL_CERT_FILE and
            SSL_CERT_DIR. It takes some 40 ms to make: share one.
        proxy: URL of an HTTP proxy, with user and password if it asks for them; None for none,
            whatever the environment says.

    Raises:
        ValueError: A value is out of range, or `proxy` is not the URL of a proxy.
        TypeError: A value is of the wrong kind.
    """

    max_connections: int = DEFAULT_MAX_CONNECTIONS
    max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES
    max_header_bytes: int = DEFAULT_MAX_HEADER_BYTES
    keepalive_s: float = DEFAULT_KEEPALIVE_S
    max_connection_age_s: float = DEFAULT_MAX_CONNECTION_AGE_S
    ssl_context: ssl.SSLContext | None = None
    proxy: str | None = field(default=None, repr=False)  # its password is secret

    def __post_init__(self) -> None:
        most, seconds = self.max_connections, "it is in seconds"
        head, usual = self.max_header_bytes, "it is in bytes; 167936 is usual"
        refuse(
            outside("max_connections", most, 1, 65_535, "100 is usual", whole=True),
            outside("max_response_bytes", self.max_response_bytes, 0, math.inf, "it is in bytes"),
            outside("max_header_bytes", head, *_HEADER_BYTES, usual, whole=True),
            outside("keepalive_s", self.keepalive_s, 0, DAY_S, seconds),
            outside("max_connection_age_s", self.max_connection_age_s, 0, DAY_S, seconds),
        )
        context, make_it = ssl.SSLContext | None, "make it ssl.create_default_context()"
        expect("ssl_context", self.ssl_context, context, make_it)
        if self.proxy is not None:
            proxy_at(self.proxy)

    def sharing_context(self, urls: Iterable[str]) -> Self:
        """Return these settings with the TLS context that connections to all these URLs share."""
        via = () if self.proxy is None else (self.proxy,)
        return replace(self, ssl_context=context_for((*urls, *via), self.ssl_context))


def context_for(urls: Iterable[str], given: ssl.SSLContext | None) -> ssl.SSLContext:
    """Return the TLS context for connections to all these sources and proxies.

    One that trusts the usual authorities takes some 40 ms and a megabyte to make, which a client
    without TLS does not need.
    """
    if given is not None:
        return given
    if any(url.lower().startswith("https:") for url in urls):
        return httpx.create_ssl_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def proxy_at(url: str) -> httpx.Proxy:
    """Return the proxy at `url`; its credentials stay out of messages.

    Raises:
        TypeError: The URL is not text.
        ValueError: It is not an http(s) URL with a host.
    """
    expect("proxy", url, str, _PROXY_LIKE)
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        raise ValueError(f"proxy must be a URL; {_PROXY_LIKE}") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        without = parsed.copy_with(userinfo=b"")
        raise ValueError(
            f"proxy must be an http(s) URL with a host, got {str(without)!r}; {_PROXY_LIKE}"
        )
    headers = {}
    if parsed.userinfo:
        credentials = f"{parsed.username}:{parsed.password}".encode()
        headers["Proxy-Authorization"] = f"Basic {b64encode(credentials).decode('ascii')}"
    return httpx.Proxy(parsed.copy_with(userinfo=b""), headers=headers)


async def with_credentials(request: httpx.Request, credentials: str) -> httpx.Request:
    """Return a copy of the request to send through a proxy that asks for these credentials.

    A copy, so that only the proxy sees them: events and fallbacks share the request itself.
    """
    headers = request.headers.copy()
    headers["Proxy-Authorization"] = credentials
    return await with_headers(request, headers)


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
        await sent.aread()  # as the request was: otherwise it is sent in chunks
    return sent


class OwnThreadResolver(AbstractResolver):
    """Resolves through the system, as aiohttp's own resolver does, with a thread per look-up.

    The loop's threads are few and shared, and a look-up that hangs cannot be stopped: a few names
    that do not resolve would block the look-ups of all other sources, and the end of the process.
    aiohttp caches results and asks for each name once at a time, so there are few threads.
    """

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> Addresses:
        """Return the addresses of `host`.

        Raises:
            OSError: The name is unknown, or cannot be resolved now.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Addresses] = loop.create_future()

        def look_up() -> None:
            found: Addresses | Exception
            try:
                found = _addresses(host, port, family)
            except Exception as error:  # noqa: BLE001 - it is raised where the answer is awaited
                found = error
            with suppress(RuntimeError):  # the loop has been closed meanwhile
                loop.call_soon_threadsafe(_settle, answer, found)

        Thread(target=look_up, name=f"name-lookup-{host}", daemon=True).start()
        return await answer

    async def close(self) -> None:
        """Do nothing: a look-up that hangs ends when the system ends it, or with the process."""


def _settle(answer: asyncio.Future[Addresses], found: Addresses | Exception) -> None:
    if answer.done():
        return
    if isinstance(found, Exception):
        answer.set_exception(found)
    else:
        answer.set_result(found)


def _addresses(host: str, port: int, family: socket.AddressFamily) -> Addresses:
    found = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, family=family, flags=socket.AI_ADDRCONFIG
    )
    return [
        ResolveResult(
            hostname=host,
            host=socket.getnameinfo(address, _NUMERIC)[0],
            port=port,
            family=its_family,
            proto=protocol,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )
        for its_family, _, protocol, _, address in found
    ]
