"""A document in force: its dice, its counters, and when it is on."""

import asyncio
import math
import random
from collections import Counter
from dataclasses import dataclass, field

from chaos.document import ChaosDocument


def _future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True, kw_only=True)
class Fault:
    """A document with what became of it; moments are in seconds on the event loop's clock.

    `changed` is done as soon as the lease ends at another moment than it did; there is then a new
    one in its place.
    """

    document: ChaosDocument  # its seed is always set
    dice: random.Random
    since_s: float
    ends_at_s: float  # infinite without a lease
    arrived: int = 0  # requests that it concerned while it was on
    touched: int = 0  # those that it did something to
    hits: Counter[str] = field(default_factory=Counter)  # what it did to them, as `X-Chaos` has it
    changed: asyncio.Future[None] = field(default_factory=_future)

    def end_at(self, moment_s: float) -> None:
        """Move the end of the lease, and tell those who wait for it."""
        self.ends_at_s = moment_s
        self.changed.set_result(None)
        self.changed = _future()

    def on_for_s(self, now_s: float) -> float:
        """Return how long the fault stays on if nobody changes it; 0 while it is off."""
        turn_ends_at_s = on_until_s(self.document.flap_s, self.since_s, now_s)
        return max(0.0, min(turn_ends_at_s, self.ends_at_s) - now_s)


def on_until_s(flap_s: float | None, since_s: float, now_s: float) -> float:
    """Return when the turn of a fault that is on at *now_s* ends; *now_s* if it is off then.

    Args:
        flap_s: Length of a turn in seconds, > 0; the first is on. None: on for ever.
        since_s: When the first turn began.
        now_s: A moment not before that.
    """
    if flap_s is None:
        return math.inf
    turn = math.floor((now_s - since_s) / flap_s)
    return now_s if turn % 2 else since_s + (turn + 1) * flap_s
