"""One call on its way through the layers."""

import math
from collections.abc import Awaitable, Callable
from typing import Protocol

import httpx

from resilience._internal.timing import loop_time_s

Send = Callable[[], Awaitable[httpx.Response]]
"""Sends the request once and returns the response with its body read."""

Keep = Callable[[httpx.Response, Callable[[], None]], object]
"""Takes a response and a function to call once, when its body has been read or dropped."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY"})
"""Methods that only ask. Source: RFC 9110 9.2.1; draft-ietf-httpbis-safe-method-w-body on QUERY."""

IDEMPOTENT_METHODS = SAFE_METHODS | {"PUT", "DELETE"}
"""Methods whose requests may arrive twice; source: RFC 9110 9.2.2."""


class SentListener(Protocol):
    """Is notified when an attempt that has waited for its admission is sent."""

    def on_sent(self) -> None:
        """Note that the attempt is sent now."""


class Call:
    """What the layers know about one call; they share and update it.

    Attributes:
        method: HTTP method, upper case.
        send: Sends the request; each attempt calls it once.
        request: What is sent; None if only `send` knows.
        source: Name of the source, for events.
        request_id: Number of the call, for events; 0 if calls are not numbered.
        idempotency_key: Whether the request has a key by which the server recognises a repetition.
        attempt: Number of the attempt under way, from 1.
        granted: Number of the last attempt that the retry budget has granted.
        keep: Takes a slot's release when the response comes before its body; None if it comes
            after, so that the slot is free again at once.
        sent_at_s: When the attempt under way was sent, on the event loop's clock; infinite while it
            waits to be admitted. Only hedging reads it, and sets it for attempts that do not wait.
        sent_listener: Notified when an attempt that has waited is sent; None for no one.
        deadline_s: When the total timeout fires on the event loop's clock; None for never.
    """

    __slots__ = (
        "attempt",
        "deadline_s",
        "granted",
        "idempotency_key",
        "keep",
        "method",
        "request",
        "request_id",
        "send",
        "sent_at_s",
        "sent_listener",
        "source",
    )

    def __init__(
        self,
        method: str,
        send: Send,
        *,
        source: str = "",
        request_id: int = 0,
        idempotency_key: bool = False,
        keep: Keep | None = None,
        request: httpx.Request | None = None,
    ) -> None:
        self.method = method
        self.send = send
        self.source = source
        self.request_id = request_id
        self.idempotency_key = idempotency_key
        self.keep = keep
        self.request = request
        self.attempt = 1
        self.granted = 1
        self.deadline_s: float | None = None
        self.sent_at_s = 0.0
        self.sent_listener: SentListener | None = None

    def hold(self) -> None:
        """Note that the attempt waits to be admitted."""
        self.sent_at_s = math.inf

    def let_go(self, now_s: float) -> None:
        """Note that the attempt, which has waited, is sent now."""
        self.sent_at_s = now_s
        if self.sent_listener is not None:
            self.sent_listener.on_sent()

    def time_left_s(self) -> float:
        """Return the seconds until the total timeout; infinite without one."""
        if self.deadline_s is None:
            return math.inf
        return self.deadline_s - loop_time_s()


Layer = Callable[[Call], Awaitable[httpx.Response]]
"""A policy around the layer inside it: takes the call, returns its response or raises."""
