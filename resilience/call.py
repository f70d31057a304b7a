"""One call on its way through the layers."""

from collections.abc import Awaitable, Callable

import httpx

Send = Callable[[], Awaitable[httpx.Response]]
"""Sends the request once and returns the response with its body read."""


class Call:
    """What the layers know about one call; they share and update it.

    Attributes:
        method: HTTP method, upper case.
        send: Sends the request; each attempt calls it once.
        request: What is sent; None if only `send` knows.
        attempt: Number of the attempt under way, from 1.
        deadline_s: When the total time-out fires on the event loop's clock; None for never.
    """

    __slots__ = ("attempt", "deadline_s", "method", "request", "send")

    def __init__(self, method: str, send: Send, request: httpx.Request | None = None) -> None:
        self.method = method
        self.send = send
        self.request = request
        self.attempt = 1
        self.deadline_s: float | None = None


Layer = Callable[[Call], Awaitable[httpx.Response]]
"""A policy around the layer inside it: takes the call, returns its response or raises."""
