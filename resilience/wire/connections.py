"""Settings of the connections to a source."""

import math
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Self

import httpx

from resilience.checks.kinds import expect
from resilience.checks.ranges import DAY_S, outside, refuse
from resilience.wire.proxy import proxy_at

DEFAULT_MAX_CONNECTIONS = 100
DEFAULT_MAX_RESPONSE_BYTES = 10_000_000
DEFAULT_MAX_HEADER_BYTES = 102_400 + 65_536  # httpx: while incomplete, and what its last read adds
DEFAULT_KEEPALIVE_S = 4.0  # servers often close idle connections after 5 s: be first
DEFAULT_MAX_CONNECTION_AGE_S = 120.0  # a busy connection never asks DNS again: part with it

_HEADER_BYTES = (1_000, 10_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """How many connections there are, how long they live, and what they lead through.

    Attributes:
        max_connections: Open connections, all hosts together, 1..65535; more requests wait.
            Whoever limits what is sent must wait before: see `Pipeline`.
        max_response_bytes: Largest decoded body, in bytes.
        max_header_bytes: Largest status line and headers together, in bytes, 1 kB..10 MB.
        keepalive_s: How long an idle connection is kept, in seconds.
        max_connection_age_s: How long after its first request a connection is still used, in
            seconds; a new one looks the host's name up again.
        ssl_context: For https; None trusts the usual authorities, or those of SSL_CERT_FILE and
            SSL_CERT_DIR. It takes some 40 ms to make: share one.
        proxy: URL of an HTTP proxy, with user and password if it asks for them; None for none,
            whatever the environment says.

    Raises:
        ValueError: A value is out of range, or `proxy` no URL of a proxy.
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
    without TLS need not pay.
    """
    if given is not None:
        return given
    if any(url.lower().startswith("https:") for url in urls):
        return httpx.create_ssl_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
