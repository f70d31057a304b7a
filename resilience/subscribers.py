"""Who hears about events."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar, overload

from resilience.call import Call
from resilience.checks.kinds import expect, expect_function, expect_subclass
from resilience.events import CallEvent, Event
from resilience.timing.clock import loop_time_s

_log = logging.getLogger("resilience")

Kind = TypeVar("Kind", bound=Event)

Handler = Callable[[Event], object]
Unsubscribe = Callable[[], None]
"""Ends a subscription; called again, it does nothing."""

_ABSTRACT = (Event, CallEvent)


class Subscribers:
    """Handlers of events, those of every kind first, each in the order of subscription.

    An event of a kind that nobody hears is never made.

    Attributes:
        listen: Whether there is any, so that a publisher can spare itself the details.
    """

    __slots__ = ("_of_every_kind", "_of_kind", "listen")

    def __init__(self) -> None:
        self._of_every_kind: tuple[Handler, ...] = ()
        self._of_kind: dict[type[Event], tuple[Handler, ...]] = {}
        self.listen = False

    @overload
    def add(
        self, handler: Callable[[Kind], object], kinds: Iterable[type[Kind]]
    ) -> Unsubscribe: ...
    @overload
    def add(self, handler: Handler, kinds: Iterable[type[Event]] | None = None) -> Unsubscribe: ...
    def add(
        self, handler: Callable[[Any], object], kinds: Iterable[type[Event]] | None = None
    ) -> Unsubscribe:
        """Call `handler` from now on with each event, or with those of exactly these `kinds`.

        Returns:
            What ends it. A handler that was added twice hears twice, until both have ended.

        Raises:
            TypeError: The handler cannot be called, or only with `await`; a kind is no event, or
                only what events have in common, so that none is of exactly this class.
        """
        expect_function("handler", handler, "start a task in it for what takes time")
        if kinds is None:
            self._of_every_kind = (*self._of_every_kind, handler)
            self.listen = True
            return partial(self._end, [None], handler)
        expect("kinds", kinds, Iterable, "list the classes of events")
        distinct = list(dict.fromkeys(kinds))
        for kind in distinct:
            expect_subclass("a kind", kind, Event, "list classes of events")
            _expect_published(kind)
        for kind in distinct:
            self._of_kind[kind] = (*self._of_kind.get(kind, ()), handler)
            self.listen = True
        return partial(self._end, [*distinct], handler)

    def _end(self, kinds: list[type[Event] | None], handler: Handler) -> None:
        while kinds:
            kind = kinds.pop()
            if kind is None:
                self._of_every_kind = _without(self._of_every_kind, handler)
            elif left := _without(self._of_kind[kind], handler):
                self._of_kind[kind] = left
            else:
                del self._of_kind[kind]
        self.listen = bool(self._of_every_kind or self._of_kind)

    def tell(self, kind: type[Event], **details: object) -> None:
        """Publish `kind(…)` with these details, timed by the running loop, if anybody hears it."""
        if self._of_every_kind or kind in self._of_kind:
            self.publish(kind(at_s=loop_time_s(), **details))  # type: ignore[arg-type]

    def tell_of(self, call: Call, kind: type[Event], **details: object) -> None:
        """Publish `kind(…)` about the attempt of `call` that is under way, if anybody hears it."""
        if self._of_every_kind or kind in self._of_kind:
            event = kind(  # type: ignore[call-arg] # an event of a call, which the caller knows
                source=call.source,
                at_s=loop_time_s(),
                request_id=call.request_id,
                attempt=call.attempt,
                **details,
            )
            self.publish(event)

    def publish(self, event: Event) -> None:
        """Tell every handler, here and now; what a handler raises is logged and swallowed."""
        for handler in (*self._of_every_kind, *self._of_kind.get(type(event), ())):
            try:
                handler(event)
            except (Exception, asyncio.CancelledError):  # noqa: BLE001 - anybody's code
                _log.exception("the event handler %r failed on %r", handler, event)


def _without(handlers: tuple[Handler, ...], handler: Handler) -> tuple[Handler, ...]:
    at = handlers.index(handler)
    return handlers[:at] + handlers[at + 1 :]


def _expect_published(kind: type[Event]) -> None:
    if kind in _ABSTRACT:
        raise TypeError(
            f"the kind {kind.__name__} would never be heard: no event is of exactly this class; "
            "leave kinds out to hear of every event, or list classes like CallEnded"
        )
