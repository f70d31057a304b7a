"""Who hears about events."""

import asyncio
import logging
from collections.abc import Callable

from resilience.call import Call
from resilience.events import Event

_log = logging.getLogger("resilience")

Handler = Callable[[Event], None]


class Subscribers:
    """Handlers of events, called in the order of subscription.

    It is false while nobody listens, so that a publisher can spare itself the event.
    """

    __slots__ = ("_handlers",)

    def __init__(self) -> None:
        self._handlers: tuple[Handler, ...] = ()

    def __bool__(self) -> bool:
        return bool(self._handlers)

    def add(self, handler: Handler) -> None:
        """Call `handler` with each event from now on."""
        self._handlers = (*self._handlers, handler)

    def tell(self, kind: Callable[..., Event], **details: object) -> None:
        """Publish `kind(…)` with these details, timed by the running loop, if anybody listens."""
        if self._handlers:
            self.publish(kind(at_s=asyncio.get_running_loop().time(), **details))

    def tell_of(self, call: Call, kind: Callable[..., Event], **details: object) -> None:
        """Publish `kind(…)` about the attempt of `call` that is under way, if anybody listens."""
        if self._handlers:
            self.tell(
                kind,
                source=call.source,
                request_id=call.request_id,
                attempt=call.attempt,
                **details,
            )

    def publish(self, event: Event) -> None:
        """Tell every handler, here and now; what a handler raises is logged and swallowed."""
        for handler in self._handlers:
            try:
                handler(event)
            except (Exception, asyncio.CancelledError):  # noqa: BLE001 - anybody's code
                _log.exception("the event handler %r failed on %r", handler, event)
