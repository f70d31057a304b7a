"""What a source does with few calls, as probes find it: the measure of what too many do to it.

The arithmetic alone: no clock, no tasks.
"""

_REMEMBERED_RESULTS = 100
_FIRST_PROBES = 3
_SAME_SOURCE = (2 / 3, 3 / 2)
_CLOCK_STEP_S = 0.001  # of uvloop: an answer within it takes 0 s, and any other is slower


class UnloadedSource:
    """The mean latency of the unloaded source, and the share of calls that it answers.

    Each is a mean over the latest 100 results of probes, or over the latest probe if it has more:
    a probe of 20 says more about chance. A probe that finds a mean latency half as long again, or
    the other way round, has met another source, and what was known is forgotten. So is what each
    of the first three found at the next: they may have been sent with too many calls, or while
    others loaded the source, and the very first misses each answer that takes longer than it lasts.

    Attributes:
        latency_s: In seconds; None before it is known.
        answered_share: Of calls that are not refused, 0.5..1.
        probes: That have ended.
    """

    def __init__(self) -> None:
        self.latency_s: float | None = None
        self.answered_share = 1.0
        self.probes = 0
        self._remembered = 0

    def learn(self, latencies_s: float, answered: int, refused: int) -> None:
        """Count a probe.

        One in which most calls were refused tells nothing: somebody else overloads the source.

        Args:
            latencies_s: Sum over the answers, in seconds.
            answered: Good answers.
            refused: Calls that the source had too much to do for.
        """
        self.probes += 1
        if answered <= refused:
            return
        latency_s = max(latencies_s / answered, _CLOCK_STEP_S)
        known_s = latency_s if self.latency_s is None else self.latency_s
        least, most = _SAME_SOURCE
        if self.probes <= _FIRST_PROBES or not least * known_s < latency_s < most * known_s:
            self._remembered = 0
        self._remembered = max(answered, min(self._remembered + answered, _REMEMBERED_RESULTS))
        weight = answered / self._remembered
        self.latency_s = known_s + weight * (latency_s - known_s)
        share = answered / (answered + refused)
        self.answered_share += weight * (share - self.answered_share)

    def gradient(self, latencies_s: float, answered: int, tolerance: float) -> float:
        """Return how near the mean latency is to that of the unloaded source, 0..1.

        Args:
            latencies_s: Sum over the answers, in seconds.
            answered: Good answers.
            tolerance: How many times the unloaded latency is still near.
        """
        if not answered:
            return 1.0
        latency_s = max(latencies_s / answered, _CLOCK_STEP_S)
        if self.latency_s is None:
            self.latency_s = latency_s
        return min(1.0, tolerance * self.latency_s / latency_s)
