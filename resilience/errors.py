# ruff: noqa: N818 - these are named after what happened, as httpx names its own
"""The errors that a call can end in.

ResilienceError
├── AttemptTimeout      one attempt outlived its limit; transient; a TimeoutError too
├── TotalTimeout        the whole call, with retries and waits, outlived its; a TimeoutError too
├── CircuitOpen         nothing was sent: the circuit is open
├── OpenedElsewhere     why it is open, if another process found so; a cause, never raised
├── RateLimited         nothing was sent: the wait for the rate limit would be too long
├── BulkheadFull        nothing was sent: too many calls run and wait already
├── ResponseTooLarge    the body grew past the limit; it was dropped unread
│   └── HeadersTooLarge the status line and headers did; nothing of it could be read
├── UndecodableBody     the body is not in the coding that it claims; an httpx.DecodingError too
├── StreamIdle          a streamed body paused for longer than its limit
├── UnwantedResult      why a function that returned is called again; a cause, never raised
├── HttpError           a typed call had a response with a status that is not 2xx
└── InvalidBody         a typed call had a response with a body of another shape
httpx.TransportError    the network failed; httpx's own tree
└── httpx.RemoteProtocolError
    └── StaleConnection a kept-alive connection that the server had already closed
"""

import httpx

_EXCERPT = 200
_EXCERPT_BYTES = 4 * _EXCERPT + 4  # no character of UTF-8 is longer than four bytes

Cause = Exception | int
"""What made an attempt fail: an exception, or the HTTP status of a transient response."""


class ResilienceError(Exception):
    """This library, not the network, ended the attempt or the call."""


class AttemptTimeout(ResilienceError, TimeoutError):
    """One attempt, headers and body, took longer than `limit_s` seconds."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(limit_s)
        self.limit_s = limit_s

    def __str__(self) -> str:
        return (
            f"the attempt was not answered within {self.limit_s:g} s; "
            "raise attempt_timeout_s if the source is healthy but slow"
        )


class TotalTimeout(ResilienceError, TimeoutError):
    """The call with its retries and waits took longer than `limit_s` seconds."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(limit_s)
        self.limit_s = limit_s

    def __str__(self) -> str:
        return (
            f"the call, retries included, did not end within {self.limit_s:g} s; "
            "raise total_timeout_s or retry less"
        )


class CircuitOpen(ResilienceError):
    """The call was rejected without sending anything.

    Attributes:
        source: Name of the source.
        retry_after_s: Seconds until the next call may try; None while isolated by hand.
        cause: The failure that opened the circuit; None while isolated by hand.
    """

    def __init__(self, source: str, retry_after_s: float | None, cause: Cause | None) -> None:
        super().__init__(source, retry_after_s, cause)
        self.source = source
        self.retry_after_s = retry_after_s
        self.cause = cause

    def __str__(self) -> str:
        if self.retry_after_s is None:
            return f"the circuit of {self.source!r} is isolated by hand; reset() lets calls through"
        return (
            f"the circuit of {self.source!r} is open after {self.cause!r}; "
            f"the next call may try in {self.retry_after_s:.3f} s"
        )


class OpenedElsewhere(ResilienceError):
    """The circuit opened because that of another process, named by `process`, opened."""

    def __init__(self, process: str) -> None:
        super().__init__(process)
        self.process = process

    def __str__(self) -> str:
        return f"the process {self.process} found the source failing"


class RateLimited(ResilienceError):
    """The call was refused a place in the queue for a token, or waited too long for it.

    Attributes:
        source: Name of the source.
        would_wait_s: How long the call would have (still) had to wait for its token, in seconds.
        waiting: How many calls were in the queue.
    """

    def __init__(self, source: str, would_wait_s: float, waiting: int) -> None:
        super().__init__(source, would_wait_s, waiting)
        self.source = source
        self.would_wait_s = would_wait_s
        self.waiting = waiting

    def __str__(self) -> str:
        return (
            f"the rate limit of {self.source!r} leaves no room: {self.waiting} calls wait, and "
            f"this one would wait {self.would_wait_s:.3f} s; call less often, or raise "
            "max_queue, max_wait_s or the call's own time limit"
        )


class BulkheadFull(ResilienceError):
    """The call was refused a slot: too many run, and too many wait or one has waited too long.

    Attributes:
        source: Name of the source.
        running: Calls that held a slot.
        waiting: Calls that waited for one.
    """

    def __init__(self, source: str, running: int, waiting: int) -> None:
        super().__init__(source, running, waiting)
        self.source = source
        self.running = running
        self.waiting = waiting

    def __str__(self) -> str:
        return (
            f"{self.running} calls to {self.source!r} run and {self.waiting} wait; "
            "call less often, or raise max_queue, max_wait_s or the slots (max_concurrent, "
            "max_limit of an adaptive limit, max_connections of the client)"
        )


class ResponseTooLarge(ResilienceError):
    """The decoded body is larger than `limit_bytes`."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(limit_bytes)
        self.limit_bytes = limit_bytes

    def __str__(self) -> str:
        return (
            f"the response body is larger than {self.limit_bytes} bytes; "
            "raise max_response_bytes if that is expected of this source"
        )


class HeadersTooLarge(ResponseTooLarge):
    """The status line and headers, or the trailers, are together larger than `limit_bytes`."""

    def __str__(self) -> str:
        return (
            f"the headers of the response are larger than {self.limit_bytes} bytes; "
            "raise max_header_bytes if that is expected of this source"
        )


class UndecodableBody(ResilienceError, httpx.DecodingError):
    """The body is not in the coding that its header claims, or in one that is not undone.

    Attributes:
        reason: What does not fit.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"the response body cannot be decoded: {self.reason}"


class StreamIdle(ResilienceError):
    """No part of a streamed body came for `limit_s` seconds."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(limit_s)
        self.limit_s = limit_s

    def __str__(self) -> str:
        return (
            f"the stream was silent for {self.limit_s:g} s; "
            "raise idle_timeout_s if the source is known to pause"
        )


class UnwantedResult(ResilienceError):
    """A function returned `result`, which its caller does not accept."""

    def __init__(self, result: object) -> None:
        super().__init__(result)
        self.result = result

    def __str__(self) -> str:
        return f"the function returned {self.result!r:.200}; on_result says which are accepted"


class HttpError(ResilienceError):
    """The response to a typed call has a status that is not 2xx.

    Attributes:
        response: The whole response, its body read.
        status: Its HTTP status.
        excerpt: The beginning of its body as text.
    """

    def __init__(self, response: httpx.Response) -> None:
        super().__init__(response)
        self.response = response
        self.status = response.status_code
        self.excerpt = excerpt_of(response)

    def __str__(self) -> str:
        message = f"{_asked(self.response)} was answered with {self.status}: {self.excerpt!r}"
        if not self.response.has_redirect_location:
            return message
        return (
            f"{message}; a redirect is not followed: with `response` that of this error, call "
            'str(response.url.join(response.headers["location"]))'
        )


class InvalidBody(ResilienceError):
    """The response to a typed call has a body that does not match the type.

    Attributes:
        response: The whole response, its body read.
        reason: What does not fit, and where.
        excerpt: The beginning of its body as text.
    """

    def __init__(self, response: httpx.Response, reason: str) -> None:
        super().__init__(response, reason)
        self.response = response
        self.reason = reason
        self.excerpt = excerpt_of(response)

    def __str__(self) -> str:
        return f"{_asked(self.response)} sent an unusable body: {self.reason}; {self.excerpt!r}"


class StaleConnection(httpx.RemoteProtocolError):
    """A reused connection turned out to be closed before any of the response came.

    The server may close an idle connection at the moment that it is chosen for the next request.
    That race happens at most once per connection and says nothing about the source's health: it is
    retried like any network error, but the breaker counts it neither as success nor as failure.
    """


def excerpt_of(response: httpx.Response) -> str:
    """Return the first 200 characters of a body that has been read."""
    text = response.content[:_EXCERPT_BYTES].decode(errors="replace")
    return text if len(text) <= _EXCERPT else text[:_EXCERPT] + "…"


def _asked(response: httpx.Response) -> str:
    return f"{response.request.method} {response.request.url.copy_with(query=None)}"
