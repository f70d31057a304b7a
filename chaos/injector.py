"""What is on now, and until when."""

import math
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from chaos.case import Case
from chaos.document import ChaosDocument
from chaos.fault import Fault
from chaos.verdict import judge


@dataclass(slots=True)
class Injector:
    """Holds at most one fault and judges each arriving request.

    Args:
        now_s: The event loop's clock, in seconds.
        seeds: Where the seed of a document that names none comes from.

    Not thread-safe: all calls come from one running event loop, and none of them awaits.
    """

    now_s: Callable[[], float]
    seeds: random.Random = field(default_factory=random.SystemRandom)
    applied: int = field(default=0, init=False)  # how many faults have been put on so far
    _name: str = field(init=False)
    _fault: Fault | None = None

    def __post_init__(self) -> None:
        """Make up a name, so that a caller can tell this injector from others."""
        self._name = f"{random.SystemRandom().getrandbits(48):012x}"

    @property
    def instance(self) -> str:
        """Which injector this is: no two have the same, be it of processes forked from one."""
        return f"{self._name}-{os.getpid()}"

    def put_on(self, document: ChaosDocument) -> None:
        """End what is on and start anew: the dice from the seed, the counters from 0.

        A document without any effect takes the fault off.
        """
        self.take_off()
        if not document.has_effect:
            return
        self.applied += 1
        seed = self.seeds.getrandbits(32) if document.seed is None else document.seed
        self._fault = Fault(
            document=document.model_copy(update={"seed": seed}),
            dice=random.Random(seed),
            since_s=self.now_s(),
            ends_at_s=self._lease_end(document.ttl_s),
        )

    def renew(self, ttl_s: float) -> bool:
        """Let the fault that is on last *ttl_s* more seconds; False if nothing is on."""
        fault = self.current()
        if fault is None:
            return False
        fault.document = fault.document.model_copy(update={"ttl_s": ttl_s})
        fault.end_at(self._lease_end(ttl_s))
        return True

    def take_off(self) -> None:
        """End the fault, also for the requests that wait in it."""
        if self._fault is not None:
            self._fault.end_at(self.now_s())
            self._fault = None

    def current(self) -> Fault | None:
        """Return the fault that is on, in either turn of its flapping, until its lease is over."""
        if self._fault is not None and self.now_s() >= self._fault.ends_at_s:
            self._fault = None
        return self._fault

    def judge(self, method: str, path: str) -> Case | None:
        """Judge a request at its arrival; None if nothing is to happen to it."""
        fault = self.current()
        if fault is None or not fault.on_for_s(self.now_s()):
            return None
        if not fault.document.concerns(method, path):
            return None
        fault.arrived += 1
        verdict = judge(fault.document, fault.dice, fault.arrived)
        return Case(fault=fault, verdict=verdict, now_s=self.now_s) if verdict.touched else None

    def is_active(self) -> bool:
        """Tell whether a fault is on and not in its idle turn."""
        fault = self.current()
        return fault is not None and fault.on_for_s(self.now_s()) > 0

    def seconds_left(self) -> float | None:
        """Return how long the lease still runs; None without a fault or without a lease."""
        fault = self.current()
        if fault is None or math.isinf(fault.ends_at_s):
            return None
        return fault.ends_at_s - self.now_s()

    def _lease_end(self, ttl_s: float | None) -> float:
        return math.inf if ttl_s is None else self.now_s() + ttl_s
