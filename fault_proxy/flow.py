"""One direction of one connection: bytes from its source to its sink, under the faults on it."""

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fault_proxy.faults.effects import Effect, Ending

MOST_HELD_BYTES = 2**20  # beyond it the source is read no further
_NO_DELAYS: Mapping[str, float] = {}
_NO_EFFECTS: Mapping[str, Effect] = {}


@dataclass(slots=True)
class _Held:
    """Bytes, or the end of the stream, that cannot pass yet; by fault what they wait for."""

    data: bytes
    ending: Ending | None
    arrived_s: float
    delays_s: dict[str, float]
    effects: dict[str, Effect]
    on_touch: Callable[[str], None] | None = None  # of its own effects
    position: int = 0

    def due_s(self) -> float:
        return self.arrived_s + sum(self.delays_s.values())


class Flow:
    """Passes bytes on at once where nothing is in their way, else holds them, in order.

    Back-pressure: the source is not read while the sink is full or `MOST_HELD_BYTES` are held.
    When a fault ends, whatever it holds back goes on.

    Args:
        loop: Its clock is the clock of all effects.
        on_end: Called once, with how the stream ended.
        on_touch: Called with a fault's id whenever the fault does something to the stream.
    """

    __slots__ = (
        "_effects",
        "_held",
        "_held_bytes",
        "_is_sink_full",
        "_is_source_paused",
        "_is_throttled",
        "_loop",
        "_on_end",
        "_on_room",
        "_on_touch",
        "_sink",
        "_source",
        "_timer",
        "has_source_ended",
        "is_over",
        "passed_bytes",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        on_end: Callable[["Flow", Ending], None],
        on_touch: Callable[[str], None],
    ) -> None:
        self._loop = loop
        self._on_end = on_end
        self._on_touch = on_touch
        self._on_room: Callable[[], None] | None = None
        self._source: asyncio.Transport | None = None
        self._sink: asyncio.Transport | None = None
        self._effects: dict[str, Effect] = {}
        self._held: deque[_Held] = deque()
        self._held_bytes = 0
        self._is_sink_full = False
        self._is_source_paused = False
        self._is_throttled = False
        self._timer: asyncio.TimerHandle | None = None
        self.has_source_ended = False
        self.is_over = False  # nothing passes any more; what comes is dropped
        self.passed_bytes = 0

    def has_source(self, transport: asyncio.Transport) -> None:
        """Take note of where the bytes come from."""
        self._source = transport
        self._regulate()

    def has_sink(self, transport: asyncio.Transport) -> None:
        """Take note of where the bytes go, and send what came before."""
        self._sink = transport
        self._pump()

    def send(self, data: bytes) -> None:
        """Pass *data* on."""
        if self._sink and not (self._held or self._effects or self.is_over):
            self.passed_bytes += len(data)
            self._sink.write(data)
        else:
            self.send_under(data)

    def send_under(
        self,
        data: bytes,
        delays_s: Mapping[str, float] = _NO_DELAYS,
        effects: Mapping[str, Effect] = _NO_EFFECTS,
        on_touch: Callable[[str], None] | None = None,
    ) -> None:
        """Pass *data* on under effects of its own beside those on the flow, by fault.

        *on_touch* is called with a fault's id whenever one of these *effects* cuts or holds it up.
        """
        if self.is_over or not data:
            return
        for fault_id, effect in self._effects.items():
            altered = effect.altered(data)
            if altered is not data:
                self._on_touch(fault_id)
            data = altered
        delays = dict(delays_s) | self._delays_s()
        self._hold(_Held(data, None, self._loop.time(), delays, dict(effects), on_touch))

    def end(self, ending: Ending) -> None:
        """End the stream, once what is held has passed."""
        if self.is_over:
            return
        if self._sink and not (self._held or self._effects):
            self._finish(ending)
            return
        self._hold(_Held(b"", ending, self._loop.time(), self._delays_s(), {}))

    def attach(self, fault_id: str, effect: Effect) -> None:
        """Put a fault on."""
        self._effects[fault_id] = effect
        self._pump()

    def detach(self, fault_id: str) -> None:
        """Take a fault off; what it holds back goes on."""
        self._effects.pop(fault_id, None)
        for held in self._held:
            held.delays_s.pop(fault_id, None)
            held.effects.pop(fault_id, None)
        self._pump()

    def sink_is_full(self) -> None:
        """Send no more for now; bytes that may pass at once still do, the source is paused."""
        self._is_sink_full = True
        self._regulate()

    def sink_has_room(self) -> None:
        """Go on."""
        self._is_sink_full = False
        self._pump()

    def throttle(self, *, on: bool) -> None:
        """Read the source no further, whatever room there is, until it is off again."""
        self._is_throttled = on
        self._regulate()

    def when_not_full(self, callback: Callable[[], None]) -> bool:
        """Whether there is no room; then *callback* is called once there is."""
        if self._has_room():
            return False
        self._on_room = callback
        return True

    def shut(self) -> None:
        """End the stream here: what is held and what comes is dropped, the sink gets a FIN."""
        self.drop()
        if self._sink is not None and not self._sink.is_closing():
            with contextlib.suppress(OSError):  # the peer is gone: its end learns of it
                self._sink.write_eof()

    def drop(self) -> None:
        """Drop what is held and what comes."""
        self.is_over = True
        self._held.clear()
        self._held_bytes = 0
        self._effects.clear()
        self._disarm()
        self._regulate()

    def _delays_s(self) -> dict[str, float]:
        """Return, by fault, how late is what has just been read."""
        delays_s = {}
        for fault_id, effect in self._effects.items():
            if delay_s := effect.delay_s():
                delays_s[fault_id] = delay_s
                self._on_touch(fault_id)
        return delays_s

    def _hold(self, held: _Held) -> None:
        self._held.append(held)
        self._held_bytes += len(held.data)
        self._pump()

    def _pump(self) -> None:
        """Let pass what may pass now, and come again when more may."""
        self._disarm()
        if self._sink is not None and not self.is_over:
            wakes_at_s = self._pass_all(self._sink, self._loop.time())
            if wakes_at_s < math.inf and not self.is_over:
                self._timer = self._loop.call_at(wakes_at_s, self._pump)
        self._regulate()

    def _pass_all(self, sink: asyncio.Transport, now_s: float) -> float:
        """Return when there is more to do (inf: not by time alone)."""
        wakes_at_s: float | None = None
        while wakes_at_s is None:
            for fault_id, effect in self._effects.items():
                if (ending := effect.ending(now_s)) is not None:
                    self._on_touch(fault_id)
                    self._finish(ending)
                    return math.inf
            wakes_at_s = self._pass_next(sink, now_s)
        ends_at_s = min((each.ends_at_s() for each in self._effects.values()), default=math.inf)
        return min(wakes_at_s, ends_at_s)

    def _pass_next(self, sink: asyncio.Transport, now_s: float) -> float | None:
        """Let pass what comes first, or return when to try again."""
        if not self._held:
            return math.inf
        if holding := [fault_id for fault_id, effect in self._effects.items() if effect.holds]:
            for fault_id in holding:
                self._on_touch(fault_id)
            return math.inf
        held = self._held[0]
        if (due_s := held.due_s()) > now_s:
            return due_s
        if held.ending is not None:
            self._finish(held.ending)
            return math.inf
        return math.inf if self._is_sink_full else self._pass_bytes(held, sink, now_s)

    def _pass_bytes(self, held: _Held, sink: asyncio.Transport, now_s: float) -> float | None:
        effects = (*self._effects.values(), *held.effects.values())
        wanted = len(held.data) - held.position
        allowances = [effect.allowance(wanted, now_s) for effect in effects]
        count = min(allowances, default=wanted)
        if count < wanted:
            self._count_touched(held, [allowance == count for allowance in allowances])
        if not count:
            return max(effect.allowed_at_s(wanted, now_s) for effect in effects)
        for effect in effects:
            effect.passed(count, now_s)
        piece = held.data[held.position : held.position + count]
        held.position += count
        if held.position == len(held.data):
            self._held.popleft()
        self._held_bytes -= count
        self.passed_bytes += count
        sink.write(piece)
        return None

    def _count_touched(self, held: _Held, binds: Sequence[bool]) -> None:
        """Count the effects that cut the bytes or hold them up, not those that would have later.

        *binds* says which, those on the flow first and the bytes' own after them.
        """
        of_bytes = held.on_touch or self._on_touch
        faults = [(fault_id, self._on_touch) for fault_id in self._effects]
        faults += [(fault_id, of_bytes) for fault_id in held.effects]
        for (fault_id, on_touch), does_bind in zip(faults, binds, strict=True):
            if does_bind:
                on_touch(fault_id)

    def _finish(self, ending: Ending) -> None:
        if ending is Ending.EOF:
            self.shut()
        else:
            self.drop()
        self._on_end(self, ending)

    def _has_room(self) -> bool:
        return self.is_over or not (self._is_sink_full or self._held_bytes >= MOST_HELD_BYTES)

    def _regulate(self) -> None:
        """Read the source only while there is room for more."""
        has_room = self._has_room()
        if has_room and self._on_room is not None:
            callback, self._on_room = self._on_room, None
            callback()
        source = self._source
        is_paused = self._is_throttled or not has_room
        if (
            source is None
            or is_paused == self._is_source_paused
            or self.has_source_ended
            or source.is_closing()
        ):
            return
        self._is_source_paused = is_paused
        if is_paused:
            source.pause_reading()
        else:
            source.resume_reading()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
