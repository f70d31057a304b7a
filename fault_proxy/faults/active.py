"""The faults that are on: their dice, their leases, whom they hit."""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from fault_proxy.faults.documents import AnyByteFault, AnyFault, AnyRequestFault, Refuse
from fault_proxy.faults.verdict import Hit, judge
from fault_proxy.faults.wire import as_wire


@dataclass(slots=True, kw_only=True, eq=False)
class ActiveFault:
    """A fault in force, with its own dice, so that no fault changes what another hits."""

    id: str
    fault: AnyFault  # its seed and its name are always set
    ends_at_s: float | None  # on the loop's clock; None: it stays
    arrived: int = 0  # connections, or requests that match
    touched: int = 0  # those that it did something to
    dice: random.Random = field(init=False, repr=False)
    standing_dice: random.Random = field(init=False, repr=False)
    timer: asyncio.TimerHandle | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Give connections that stand dice of their own: their number is a matter of luck."""
        self.dice = random.Random(self.fault.seed)
        self.standing_dice = random.Random(f"{self.fault.seed} standing")

    def roll_connection(self, probability: float, *, is_standing: bool) -> random.Random | None:
        """Return the chance of a connection that is hit, None for one that is not.

        Two numbers are drawn for each connection, in the order of their arrival.
        """
        dice = self.standing_dice if is_standing else self.dice
        roll, seed = dice.random(), dice.getrandbits(64)
        self.arrived += 1
        return random.Random(seed) if roll < probability else None


class ActiveFaults:
    """Holds the faults that are on and ends them by themselves when their lease runs out.

    Args:
        loop: Its clock is the clock of the leases.
        seeds: Where the seed of a fault that names none comes from.
        on_begin: Called when a fault is put on.
        on_end: Called when a fault has ended, however it ended.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        seeds: random.Random,
        *,
        on_begin: Callable[[ActiveFault], None],
        on_end: Callable[[ActiveFault], None],
    ) -> None:
        self._loop = loop
        self._seeds = seeds
        self._on_begin = on_begin
        self._on_end = on_end
        self._by_id: dict[str, ActiveFault] = {}
        self._last_id = 0
        self._on_requests: tuple[tuple[ActiveFault, AnyRequestFault], ...] = ()

    def put_on(self, fault: AnyFault) -> ActiveFault:
        """Put *fault* on beside those that are on."""
        self._last_id += 1
        seed = self._seeds.getrandbits(32) if fault.seed is None else fault.seed
        active = ActiveFault(
            id=str(self._last_id),
            fault=replace(fault, seed=seed, name=fault.name or fault.kind),
            ends_at_s=None,
        )
        self._by_id[active.id] = active
        self._lease(active, fault.ttl_s)
        self._sort()
        self._on_begin(active)
        return active

    def renew(self, fault_id: str, ttl_s: float) -> ActiveFault | None:
        """Let a fault last *ttl_s* from now; None if it is not on."""
        active = self._by_id.get(fault_id)
        if active is not None:
            active.fault = replace(active.fault, ttl_s=ttl_s)
            self._lease(active, ttl_s)
        return active

    def take_off(self, fault_id: str) -> bool:
        """End a fault; False if it is not on."""
        active = self._by_id.pop(fault_id, None)
        if active is None:
            return False
        if active.timer is not None:
            active.timer.cancel()
        self._sort()
        self._on_end(active)
        return True

    def take_all_off(self) -> None:
        """End every fault."""
        for fault_id in tuple(self._by_id):
            self.take_off(fault_id)

    def all(self) -> Sequence[ActiveFault]:
        """Return the faults that are on, the oldest first."""
        return tuple(self._by_id.values())

    def on_connections(self) -> Sequence[tuple[ActiveFault, AnyByteFault]]:
        """Return the faults of bytes that are on, the oldest first."""
        return [
            (each, each.fault)
            for each in self._by_id.values()
            if isinstance(each.fault, AnyByteFault)
        ]

    @property
    def concern_requests(self) -> bool:
        """Whether a request may be hit at all."""
        return any(fault.may_hit for _, fault in self._on_requests)

    def hits(self, method: str, path: str) -> tuple[Hit, ...]:
        """Return the hits on a request that has just arrived."""
        hits = []
        for active, fault in self._on_requests:
            if fault.match.concerns(method, path):
                active.arrived += 1
                hit = judge(active.id, fault, active.dice, active.arrived)
                if hit is not None:
                    hits.append(hit)
        return tuple(hits)

    def count_touched(self, fault_id: str) -> None:
        """Take note that a fault took effect, unless it has ended meanwhile."""
        if (active := self._by_id.get(fault_id)) is not None:
            active.touched += 1

    @property
    def applied(self) -> int:
        """How many faults have been put on so far."""
        return self._last_id

    def as_wire(self, active: ActiveFault) -> dict[str, object]:
        """Return what /faults tells of a fault; who is refused cannot be counted."""
        can_count = not isinstance(active.fault, Refuse)
        ends_at_s = active.ends_at_s
        left_s = None if ends_at_s is None else max(0.0, ends_at_s - self._loop.time())
        return {
            "id": active.id,
            **as_wire(active.fault),
            "leftS": left_s,
            "arrived": active.arrived if can_count else None,
            "touched": active.touched if can_count else None,
        }

    def _lease(self, active: ActiveFault, ttl_s: float | None) -> None:
        if active.timer is not None:
            active.timer.cancel()
        active.timer = None
        active.ends_at_s = None
        if ttl_s is not None:
            active.ends_at_s = self._loop.time() + ttl_s
            active.timer = self._loop.call_at(active.ends_at_s, self.take_off, active.id)

    def _sort(self) -> None:
        self._on_requests = tuple(
            (each, each.fault)
            for each in self._by_id.values()
            if isinstance(each.fault, AnyRequestFault)
        )
