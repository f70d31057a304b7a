"""Which errors another attempt may cure, for libraries that know only exceptions."""

import httpx

WORTH_ANOTHER_TRY = frozenset({408, 429, *range(500, 600)})
"""Statuses that are failures of the source's; every other one is an answer."""


def is_transient(error: BaseException) -> bool:
    """Tell whether the error is a network's, a time-out or a status worth another try."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in WORTH_ANOTHER_TRY
    return isinstance(error, httpx.TransportError)


def is_answer(error: BaseException) -> bool:
    """Tell whether the error is a status that says nothing against the source's health."""
    return isinstance(error, httpx.HTTPStatusError) and not is_transient(error)
