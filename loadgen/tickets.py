"""Where the requests of a load come from: tickets of a closed load, due moments of an open one."""

import itertools
import math
import random
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Protocol

from loadgen.alarm import Alarm
from loadgen.load import Closed, Load, Open
from loadgen.schedule import Stage, due_moments
from loadgen.watch import STALL_S

NEVER = math.inf
MOST_A_ROUND = 500  # requests submitted before the loop looks at its sockets and signals again


class Source(Protocol):
    """Where requests come from; moments are of `time.perf_counter`.

    Attributes:
        began: when the first recorded request fell due; infinity before that is known.
        is_over: there are no more requests.
        left: how many a task that is free may send before `until` without a word: it counts itself.
        until: when it has to `take` instead.
    """

    began: float
    is_over: bool
    left: float
    until: float

    def take(self, now: float) -> float | None:
        """Return when the next request of a task that is free is due, or None if it has none."""


class Tickets:
    """A closed load's tickets, first those of the warm-up; a task takes one before it sends.

    Attributes: as of a `Source`.
    """

    __slots__ = ("_is_warming_up", "_shape", "began", "is_over", "left", "until")

    def __init__(self, load: Load) -> None:
        assert isinstance(load.shape, Closed)  # noqa: S101 - the caller's choice
        self.began = NEVER
        self.is_over = False
        self._shape = load.shape
        self._is_warming_up = True
        self.left: float = load.warmup_requests or (math.inf if load.warmup_s else 0)
        self.until = perf_counter() + load.warmup_s if load.warmup_s else NEVER

    def take(self, now: float) -> float | None:
        """Take a ticket and return when it is due: now; None if there is none.

        One of the warm-up is due a hair before that. Else it would count if it was taken at the
        same moment as the first that counts, as when all tasks begin or time out together.
        """
        if self.left and now < self.until:
            self.left -= 1
            return math.nextafter(now, -math.inf) if self._is_warming_up else now
        if not self._is_warming_up:
            self.is_over = True
            return None
        self._is_warming_up = False
        self.began = now
        self.left = math.inf if self._shape.requests is None else self._shape.requests
        self.until = NEVER if self._shape.duration_s is None else now + self._shape.duration_s
        return self.take(now)

    def start(self, submit: Callable[[float, float], None]) -> None:
        """Let each task take its first ticket; the rest is taken when one is free again."""
        now = perf_counter()
        for _ in range(self._shape.tasks):
            if (due := self.take(now)) is None:
                break
            submit(due, now)

    def stop(self) -> None:
        """Do nothing: without a task that is free no ticket is taken."""


class Schedule:
    """An open load's due moments; requests are submitted when they fall due.

    Attributes, beside those of a `Source`, of which `left` is 0 at all times:
        submitted: how many have fallen due, the warm-up left out.
        late: how many of them were submitted when they were due for STALL_S or longer.
        last_submitted: when the last of them was submitted.
    """

    def __init__(self, load: Load, when_over: Callable[[], None]) -> None:
        assert isinstance(load.shape, Open)  # noqa: S101 - the caller's choice
        self.is_over = False
        self.left = self.until = 0.0
        self.submitted = self.late = 0
        self.last_submitted = 0.0
        self._when_over = when_over
        self._due_s = _with_warmup(load.shape, load.warmup_s)
        self._duration_s = load.shape.duration_s
        self.began = perf_counter() + load.warmup_s

    @property
    def scheduled_s(self) -> float:
        """How long requests fell due so far: up to the first that has not been submitted."""
        return self._duration_s if self.is_over else max(0.0, self._next - self.began)

    def take(self, now: float) -> float | None:  # noqa: ARG002 - as Tickets has it
        """Return None: that a connection is free makes no request fall due."""
        return None

    def start(self, submit: Callable[[float, float], None]) -> None:
        """Begin to submit."""
        self._submit = submit
        self._alarm = Alarm(self._submit_due)
        self._advance()
        self._submit_due()

    def stop(self) -> None:
        """Submit no more."""
        self._alarm.close()

    def _submit_due(self) -> None:
        now = perf_counter()
        for _ in range(MOST_A_ROUND):
            if self.is_over or self._next > now:
                break
            moment = self._next
            self._advance()
            self._submit(moment, now)
            if moment >= self.began:
                self.submitted += 1
                self.late += now - moment >= STALL_S
        self.last_submitted = now
        if self.is_over:
            self._when_over()
        else:
            self._alarm.set(self._next)

    def _advance(self) -> None:
        due_s = next(self._due_s, None)
        if due_s is None:
            self.is_over = True
        else:
            self._next = self.began + due_s


def _with_warmup(shape: Open, warmup_s: float) -> Iterator[float]:
    """Yield the due moments from the first stage's beginning, those of the warm-up below 0."""
    if not warmup_s:
        return itertools.islice(shape.due_moments(), shape.part, None, shape.parts)
    stage = Stage(duration_s=warmup_s, rate_per_s=shape.stages[0].rate_per_s)
    warmup = due_moments([stage], random.Random(f"{shape.seed}/warm-up") if shape.poisson else None)
    both = itertools.chain((due_s - warmup_s for due_s in warmup), shape.due_moments())
    return itertools.islice(both, shape.part, None, shape.parts)
