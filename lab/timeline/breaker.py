"""What state a circuit breaker is in, as its service says when asked a few times a second."""

from collections.abc import Callable
from dataclasses import dataclass

from lab.control import NoAnswerError, ask
from lab.running import RunningSystem
from lab.timeline.clock import TimelineClock

Note = Callable[..., None]

LOOK_EVERY_S = 0.1
ANSWER_S = 0.5
FIELD = "breaker"  # beside the field that counts the attempts
OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The state from `at_s` on, when it was first seen: `closed`, `open`, `half-open`."""

    at_s: float
    state: str


class BreakerWatch:
    """Looks at the breaker of the service that counts its attempts; there need be none."""

    def __init__(self, system: RunningSystem, clock: TimelineClock, note: Note) -> None:
        self.readings: list[Reading] = []  # one a change
        self._note = note
        self._system = system
        self._clock = clock
        counters = ((each.name, each.attempts) for each in system.system.services)
        self._urls = [system.url(name) + each.path for name, each in counters if each is not None]

    async def watch(self) -> None:
        """Look for ever."""
        moment_s = 0.0
        while self._urls:
            await self._look(self._urls[0])
            moment_s = max(moment_s + LOOK_EVERY_S, self._clock.now_s())
            await self._clock.until(moment_s)

    async def _look(self, url: str) -> None:
        try:
            answer = await ask(self._system.http, "GET", url, within_s=ANSWER_S)
        except NoAnswerError:
            return
        state = answer.field(FIELD)
        if isinstance(state, str) and (not self.readings or self.readings[-1].state != state):
            reading = Reading(at_s=self._clock.now_s(), state=state)
            self.readings.append(reading)
            self._note("breaker.seen", at_s=round(reading.at_s, 6), state=state)
