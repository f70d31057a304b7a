"""The event loop that the generator runs on."""

import asyncio
from collections.abc import Callable


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Return what makes uvloop's loop, or asyncio's own on a system that has no uvloop."""
    try:
        import uvloop  # noqa: PLC0415 - absent on some systems
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
