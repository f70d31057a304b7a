"""How one circuit and those of the same name in other processes follow each other's changes."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from resilience._internal.checks import DAY_S
from resilience.breaker.circuit_breaker import CircuitBreaker
from resilience.errors import OpenedElsewhere
from resilience.events import CircuitClosed, CircuitOpened

_OPEN = "open"
_CLOSED = "closed"
_CLOSED_IS_KEPT_S = 60.0
_CLOCK_WAS_SET_BACK_MS = 1000  # further ahead of Redis' clock no exchange takes a change
_MOST_DIGITS = 15  # of a time in ms


class Moment(NamedTuple):
    """The same moment on two clocks: the event loop's, and Redis', which all processes share."""

    loop_s: float
    redis_ms: int


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """A change of state, with `str` as it stands in Redis; changes are ordered by their time.

    Attributes:
        at_ms: When, on Redis' clock.
        process: Whose circuit changed.
        state: What it changed to, open or closed.
    """

    at_ms: int
    process: str
    state: str

    def __str__(self) -> str:
        return f"{self.state} {self.at_ms} {self.process}"

    @classmethod
    def parse(cls, text: str) -> "Change | None":
        """Return the change that the text stands for; None if it is not one."""
        state, _, rest = text.partition(" ")
        at_ms, _, process = rest.partition(" ")
        is_time = at_ms.isascii() and at_ms.isdecimal() and len(at_ms) <= _MOST_DIGITS
        if state not in {_OPEN, _CLOSED} or not is_time or not process:
            return None
        return cls(int(at_ms), process, state)


class _Noted(NamedTuple):
    state: str
    at_s: float
    until_s: float


class SharedCircuit:
    """Decides which change of another process to follow, and which of ours to publish.

    The latest change holds. One that is older than the latest of this circuit is not followed,
    however late it arrives; ours is written in its place.

    Attributes:
        process: Name of this process; unique.

    Args:
        breaker: The circuit.
    """

    def __init__(self, breaker: CircuitBreaker, *, process: str = "") -> None:
        self._breaker = breaker
        self.process = process
        self._noted: _Noted | None = None  # a change of ours without a time on Redis' clock yet
        self._latest: Change | None = None  # ours or another's
        self._published_until_s = -math.inf  # how long the latest is ours to publish
        self._following = False

    def note(self, event: CircuitOpened | CircuitClosed) -> None:
        """Note a change of the circuit, unless it is another's, or made to isolate it by hand.

        One by `reset` is noted, so that no older change undoes it, but not published.
        """
        if self._following:
            return
        if isinstance(event, CircuitClosed):
            kept_s = _CLOSED_IS_KEPT_S if event.by_trial else 0.0
            self._noted = _Noted(_CLOSED, event.at_s, event.at_s + kept_s)
        elif event.break_s is not None:
            self._noted = _Noted(_OPEN, event.at_s, event.at_s + event.break_s)

    def receive(self, text: str, left_ms: int, now: Moment) -> tuple[str, int] | None:
        """Follow the change that Redis keeps for `left_ms` more, if it is later than ours.

        Returns:
            The text that Redis should keep instead, and for how many ms; None if it may stay.
        """
        self._place_noted(now)
        received = Change.parse(text) if 0 < left_ms <= DAY_S * 1000 else None
        if received is not None and _is_ahead(received, now):
            received = None
        if received is not None and (self._latest is None or received > self._latest):
            self._latest, self._published_until_s = received, -math.inf
            self._follow(received, left_ms / 1000)
            return None
        ours_left_ms = int(max(0.0, self._published_until_s - now.loop_s) * 1000)
        if received == self._latest or ours_left_ms == 0:
            return None
        return str(self._latest), ours_left_ms

    def _place_noted(self, now: Moment) -> None:
        if self._latest is not None and _is_ahead(self._latest, now):
            self._latest, self._published_until_s = None, -math.inf
        if self._noted is None:
            return
        state, at_s, self._published_until_s = self._noted
        self._noted = None
        at_ms = now.redis_ms - round((now.loop_s - at_s) * 1000)
        if self._latest is not None:  # it came first, whatever rounding makes of it
            at_ms = max(at_ms, self._latest.at_ms + 1)
        self._latest = Change(at_ms, self.process, state)

    def _follow(self, change: Change, left_s: float) -> None:
        if self._breaker.isolated:
            return
        self._following = True
        try:
            if change.state == _OPEN:
                self._breaker.trip(left_s, OpenedElsewhere(change.process))
            elif self._breaker.state != "closed":
                self._breaker.reset(by_trial=True)  # no other closing is ever published
        finally:
            self._following = False


def _is_ahead(change: Change, now: Moment) -> bool:
    """Tell whether the change is in the future: not ours, or Redis' clock was set back."""
    return change.at_ms > now.redis_ms + _CLOCK_WAS_SET_BACK_MS
