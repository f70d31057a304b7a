"""What is on now, and until when."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from chaos.document import ChaosDocument
from chaos.verdict import Verdict, judge


@dataclass(slots=True, kw_only=True)
class Fault:
    """A document in force, with its own dice and counters."""

    document: ChaosDocument  # its seed is always set
    dice: random.Random
    ends_at_s: float | None  # on the injector's clock
    arrived: int = 0
    touched: int = 0


@dataclass(slots=True)
class Injector:
    """Holds at most one fault and gives each arriving request its verdict.

    Args:
        now_s: A monotonic clock, in seconds: the event loop's.
        seeds: Where the seed of a document that names none comes from.

    Not thread-safe: all calls come from one event loop, and none of them awaits.
    """

    now_s: Callable[[], float]
    seeds: random.Random = field(default_factory=random.SystemRandom)
    _fault: Fault | None = None

    def put_on(self, document: ChaosDocument) -> None:
        """Replace what is on: the dice start from the seed, the counters from 0.

        A document without any effect takes the fault off.
        """
        if not document.has_effect:
            self._fault = None
            return
        seed = self.seeds.getrandbits(32) if document.seed is None else document.seed
        self._fault = Fault(
            document=document.model_copy(update={"seed": seed}),
            dice=random.Random(seed),
            ends_at_s=self._lease_end(document.ttl_s),
        )

    def renew(self, ttl_s: float) -> bool:
        """Let the fault that is on last *ttl_s* more seconds; False if nothing is on."""
        fault = self.current()
        if fault is None:
            return False
        fault.document = fault.document.model_copy(update={"ttl_s": ttl_s})
        fault.ends_at_s = self._lease_end(ttl_s)
        return True

    def take_off(self) -> None:
        """End the fault; requests already judged finish as they were judged."""
        self._fault = None

    def current(self) -> Fault | None:
        """Return the fault that is on, unless its lease has run out."""
        fault = self._fault
        if fault is not None and fault.ends_at_s is not None and self.now_s() >= fault.ends_at_s:
            fault = self._fault = None
        return fault

    def verdict(self) -> Verdict | None:
        """Judge a request at its arrival; None if no fault is on."""
        fault = self.current()
        if fault is None:
            return None
        fault.arrived += 1
        verdict = judge(fault.document, fault.dice, fault.arrived)
        fault.touched += bool(verdict.touched)
        return verdict

    def seconds_left(self) -> float | None:
        """Return how long the lease still runs; None without a fault or without a lease."""
        fault = self.current()
        if fault is None or fault.ends_at_s is None:
            return None
        return fault.ends_at_s - self.now_s()

    def _lease_end(self, ttl_s: float | None) -> float | None:
        return None if ttl_s is None else self.now_s() + ttl_s
