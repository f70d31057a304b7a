"""What an outcome means: whether to try again, and what it says about the source's health."""

from enum import Enum, auto
from http import HTTPStatus

import httpx

from resilience.errors import AttemptTimeout, ResponseTooLarge, StaleConnection

TRANSIENT_ERRORS = (
    AttemptTimeout,
    httpx.TimeoutException,
    httpx.NetworkError,
    httpx.RemoteProtocolError,
    httpx.ProxyError,
)
"""Errors that another attempt may avoid. httpx's other transport errors are the caller's mistakes
(LocalProtocolError, UnsupportedProtocol) and fail again however often they are tried."""

TOO_MANY_REQUESTS = int(HTTPStatus.TOO_MANY_REQUESTS)
"""A plain number, because the enumeration's look-up costs a hundredth of a call."""

_TRANSIENT_CLIENT_ERRORS = frozenset({408, 429})
_ANSWERED = (ResponseTooLarge, httpx.DecodingError)


class Verdict(Enum):
    """What an outcome says about the source's health."""

    SUCCESS = auto()
    FAILURE = auto()
    NEUTRAL = auto()


NEVER_SENT_ERRORS = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,  # not reached, or no tunnel opened
)
"""Errors after which the server cannot have seen the request."""


def is_transient_status(status: int) -> bool:
    """Tell whether the status is 5xx, 408 or 429, or not one of HTTP's (below 100, above 599).

    Source: RFC 9110 15 on invalid statuses, which count as 5xx.
    """
    return not 100 <= status < 500 or status in _TRANSIENT_CLIENT_ERRORS  # noqa: PLR2004 - HTTP's


def verdict_on(error: BaseException) -> Verdict:
    """Return what an exception says about the source.

    Transient errors are failures. A response whose body or headers are too large, or whose body
    could not be decoded, shows that the source answers, which is a success. Everything else is
    neutral: a cancellation, a stale connection, a mistake of the caller.
    """
    if isinstance(error, StaleConnection):
        return Verdict.NEUTRAL
    if isinstance(error, TRANSIENT_ERRORS):
        return Verdict.FAILURE
    if isinstance(error, _ANSWERED):
        return Verdict.SUCCESS
    return Verdict.NEUTRAL
