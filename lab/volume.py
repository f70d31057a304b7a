"""How many requests an experiment sends in all, and for what: `validate` and `run` announce it."""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.plan import Cell
from lab.spec.experiment import Experiment
from lab.spec.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class _Volume:
    """Numbers of requests; those of loads that last for a time, closed, are not among them."""

    measured: int
    warmup: int = 0
    steady_state: int = 0
    is_all: bool = True  # whether no load is closed and for a time

    def in_words(self) -> str:
        """Return for instance `320 requests: 200 measured, 100 in warm-up, 20 in the steady state`.

        What is sent for a time comes on top, and is told in words.
        """
        numbers = {
            "measured": self.measured,
            "in warm-up": self.warmup,
            "in the steady state": self.steady_state,
        }
        parts = [f"{number} {what}" for what, number in numbers.items() if number]
        if not self.is_all:
            parts.append("as many as fit into the loads that last for a time")
        at_least = "" if self.is_all else "at least "
        return f"{at_least}{sum(numbers.values())} requests: {', '.join(parts)}"


def table_in_words(experiment: Experiment, cells: Sequence[Cell]) -> str:
    """Return how many cells, runs and requests there are."""
    planned = [(cell, cell.planned_requests or 0) for cell in cells]
    volume = _Volume(
        measured=sum(cell.repeats * requests for cell, requests in planned),
        warmup=sum(cell.warmup * requests for cell, requests in planned),
        steady_state=len(cells) * _tries(experiment),
        is_all=all(cell.planned_requests is not None for cell in cells),
    )
    runs = sum(cell.repeats for cell in cells)
    return f"{len(cells)} cells, {runs} measured runs; {volume.in_words()}"


def timeline_in_words(experiment: Experiment, timeline: Timeline, *, runs: int) -> str:
    """Return how long the timeline is and how many events, runs and requests there are."""
    once = sum(burst.requests for burst in timeline.bursts) or experiment.load.requests or 0
    volume = _Volume(measured=runs * once, steady_state=runs * _tries(experiment))
    return (
        f"a timeline of {timeline.duration_s:g} s, {len(timeline.events)} events, {runs} runs; "
        f"{volume.in_words()}"
    )


def _tries(experiment: Experiment) -> int:
    return 0 if experiment.steady_state is None else experiment.steady_state.requests
