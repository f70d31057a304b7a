"""What sends an experiment's loads: the lab's own generator, or Locust's processes."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from lab.run.load_worker import start_load_worker
from lab.run.locust_engine import start_locust_engine
from lab.spec.load import LocustWorkers
from loadgen import Load, Samples


class Engine(Protocol):
    """Sends one load after another in processes of its own."""

    async def send(
        self, load: Load, *, on_finished: Callable[[int], None], into: Samples | None = None
    ) -> Samples:
        """Send a load and return its samples; *on_finished* hears how many are done meanwhile.

        Args:
            load: what to send.
            on_finished: called now and then.
            into: empty samples to fill. If the call is cancelled, they are those of the requests
                that had ended, with those that had not; without a report if that is not known.

        Raises:
            NoValidData: a process ended, or would not take the load.
        """


def counts_of_cut_short(samples: Samples) -> dict[str, int]:
    """Return what became of the requests of a load that was not sent to its end.

    They are `ended`, `unanswered` (sent) and `waiting` (due, and not sent). None of them if that is
    not known.
    """
    if samples.report is None:
        return {}
    return {
        "ended": len(samples),
        "unanswered": samples.unanswered,
        "waiting": samples.waiting,
    }


def in_words(counts: Mapping[str, int]) -> str:
    """Return such counts as a clause."""
    if not counts:
        return "what became of its requests is not known"
    sent = f"{counts['ended']} requests had ended, {counts['unanswered']} sent and not answered"
    return f"{sent}, {counts['waiting']} due and not sent" if counts["waiting"] else sent


def start_engine(locust: LocustWorkers | None) -> AbstractAsyncContextManager[Engine]:
    """Run the engine until the block ends; it also ends by itself once the lab is gone.

    Args:
        locust: the workers of Locust; None for the lab's own generator.
    """
    return start_load_worker() if locust is None else start_locust_engine(locust)
