"""Cut a reply off half-way, and spare the server's log the complaint about it."""

import logging
from contextvars import ContextVar

_is_left_unended: ContextVar[bool] = ContextVar("is_left_unended", default=False)


class ConnectionCutError(OSError):
    """The reply was cut off: what a server raises when it can send no more, as ASGI has it."""


def leave_unended() -> None:
    """Note, in the task of the request, that its reply has no end because a fault cut it."""
    _is_left_unended.set(True)


def keep_cuts_out_of_the_log() -> None:
    """Let uvicorn complain of an unended reply only where nobody asked for it."""
    logging.getLogger("uvicorn.error").addFilter(_was_not_asked_for)


def _was_not_asked_for(_: logging.LogRecord) -> bool:
    return not _is_left_unended.get()
