"""What sends an experiment's loads: the lab's own generator, or Locust's processes."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from lab.errors import NoValidData
from lab.run.locust_engine import start_session
from lab.spec.load import LocustWorkers
from loadgen import Load, Samples, Worker, WorkerError, start_worker
from loadgen.classify import RULE_FAILED
from loadgen.driver import OnFinished
from loadgen.locust_run import LocustSession


class Engine:
    """Sends one load after another in processes of its own."""

    def __init__(self, sender: Worker | LocustSession) -> None:
        self._sender = sender

    async def send(
        self, load: Load, *, on_finished: OnFinished, into: Samples | None = None
    ) -> Samples:
        """Send a load and return its samples; see `Worker.send`.

        Raises:
            NoValidData: a process ended, would not take the load, or an outcome rule of the
                user's own failed.
        """
        try:
            samples = await self._sender.send(load, on_finished=on_finished, into=into)
        except WorkerError as failure:
            raise NoValidData(str(failure)) from failure
        _check_rule(samples)
        return samples


def _check_rule(samples: Samples) -> None:
    for ending in samples.endings:
        if ending.error.startswith(RULE_FAILED):
            raise NoValidData(f"{ending.error}; correct it and run again")


@asynccontextmanager
async def start_engine(locust: LocustWorkers | None) -> AsyncIterator[Engine]:
    """Run the engine until the block ends; it also ends by itself once the lab is gone.

    Args:
        locust: the workers of Locust; None for the lab's own generator.

    Raises:
        NoValidData: not all workers of Locust came in time.
    """
    try:
        async with start_worker() if locust is None else start_session(locust) as sender:
            yield Engine(sender)
    except WorkerError as failure:
        raise NoValidData(str(failure)) from failure


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
