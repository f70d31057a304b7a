"""The question that a fault in force answers."""

from collections.abc import Awaitable, Callable

StillOn = Callable[[], Awaitable[bool]]  # is the fault still on?
