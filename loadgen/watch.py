"""Watches the generator itself: CPU time and lateness of the event loop."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from time import perf_counter

LOOK_EVERY_S = 0.01

# From which length on a delay of the loop is a stall. A process that waits for its turn on a busy
# machine is 10 to 40 ms late now and then (six busy loops beside it on two cores), and no run shall
# be spoilt by that. A stopped process, a machine that stands still, a CPU quota that is used up and
# a callback that blocks are later than this; so is a machine too busy to measure on.
STALL_S = 0.05
# Of the mean latency of a closed load: a stall that is shorter bends none of its latencies by more.
SLIGHT_SHARE = 0.1
_STEPS_PER_S = 10_000  # in which lateness is counted


class LagLog:
    """How late looks at the clock were, and how many requests that may have held up. Pure.

    Lateness is weighed by time and not by looks: a look that is a second late stands for a second,
    in which a hundred looks were to be taken. Moments are in seconds of one clock.

    Attributes:
        stalls: looks that were STALL_S late or later.
        stalled_s: their lateness together.
        caught_up: requests that ended while the loop caught up after a stall.
        longest_s: the greatest lateness.
    """

    def __init__(self) -> None:
        self.stalls = 0
        self.stalled_s = 0.0
        self.caught_up = 0
        self.longest_s = 0.0
        self._lags: Counter[int] = Counter()  # how often the loop was so many steps late
        self._ended = 0
        self._was_stall = False

    def add(self, *, expected: float, now: float, since: float, ended: int) -> None:
        """Note a look.

        Args:
            expected: when it was to be taken.
            now: when it was taken.
            since: from when on lateness counts: what came before was warm-up.
            ended: how many requests that count have ended so far.
        """
        late_s = max(0.0, now - max(expected, since))
        is_stall = late_s >= STALL_S
        if is_stall:
            self.stalls += 1
            self.stalled_s += late_s
        if is_stall or self._was_stall:  # replies are read before the look or after it
            self.caught_up += ended - self._ended
        self._ended, self._was_stall = ended, is_stall
        self.longest_s = max(self.longest_s, late_s)
        self._lags[round(late_s * _STEPS_PER_S)] += 1

    def held_up_of(self, tasks: int, over_s: float, requests: int) -> int:
        """Return how many requests of a closed load stalls held up for longer than slightly.

        Args:
            tasks: of the load. Each is busy all the time, so that their time over the requests is
                the mean latency (Little's law).
            over_s: how long they were busy.
            requests: that ended.
        """
        mean_s = tasks * over_s / requests if requests else 0.0
        return self.caught_up if self.longest_s >= SLIGHT_SHARE * mean_s else 0

    def stalled_share(self, *, over_s: float) -> float:
        """Return the share of *over_s* seconds that stalls took; 0 if they met no request."""
        return self.stalled_s / over_s if self.caught_up else 0.0

    def percentile_s(self, share: float, *, over_s: float) -> float:
        """Return by how much at most the loop was late for *share* of the *over_s* seconds watched.

        A request that falls due in the middle of a stall has half of it to wait. So the loop is
        late by x or more for the time by which stalls exceed x, all of them together.
        """
        spare, count, total = (1 - share) * over_s * _STEPS_PER_S, 0, 0
        for late, times in sorted(self._lags.items(), reverse=True):
            if total - count * late >= spare:
                break
            count += times
            total += times * late
        return max(0.0, (total - spare) / count / _STEPS_PER_S) if count else 0.0


class Watch:
    """Looks at the clock every LOOK_EVERY_S and notes in `log` how late each look is.

    Args:
        ended: returns how many requests that count have ended; also does what else is to be done
            at each look.
        since: returns from when on lateness counts; infinity if that is not known yet.
    """

    def __init__(self, *, ended: Callable[[], int], since: Callable[[], float]) -> None:
        self.log = LagLog()
        self._ended = ended
        self._since = since
        self._loop = asyncio.get_running_loop()
        self._began = perf_counter()
        self._cpu_began_s = time.process_time()
        self._look_at(self._began + LOOK_EVERY_S)

    def stop(self) -> None:
        """Take a last look."""
        self._timer.cancel()
        now = perf_counter()
        self._note(now, expected=min(now, self._expected))

    def duration_s(self) -> float:
        """Return the seconds since the watch began."""
        return perf_counter() - self._began

    def cpu_share(self) -> float:
        """Return the process's CPU time since then over that."""
        return (time.process_time() - self._cpu_began_s) / self.duration_s()

    def _look_at(self, moment: float) -> None:
        self._expected = moment
        self._timer = self._loop.call_later(moment - perf_counter(), self._look)

    def _look(self) -> None:
        now = perf_counter()
        self._note(now, expected=self._expected)
        self._look_at(now + LOOK_EVERY_S)  # so that what the look itself took counts as lateness

    def _note(self, now: float, *, expected: float) -> None:
        self.log.add(expected=expected, now=now, since=self._since(), ended=self._ended())
