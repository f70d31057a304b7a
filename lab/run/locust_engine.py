"""Locust's master and workers as the sender of an experiment's loads.

What a run leaves is the same as with the lab's own generator, since every request's sample is taken
and kept by `loadgen`: Locust rounds its own percentiles to whole milliseconds below 100 ms and to
two digits above, and none of its figures reaches the results. Only its counts are used, to be held
against the samples. Latencies are those that Locust's client sees, and that client is slower than
the lab's own: compare runs of one engine.
"""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec

from lab.errors import NoValidData, UsageError
from lab.spec.load import LocustWorkers
from loadgen import Load, Samples
from loadgen.locust_run import LocustFailedError, LocustSession, start_locust

CONNECT_HERE_S = 60  # for workers on this machine, which may be a slow one
CONNECT_ELSEWHERE_S = 600  # for somebody to start them


def require_locust(what: str) -> None:
    """Make sure, before anything starts, that *what* can be had.

    Raises:
        UsageError: Locust is not installed.
    """
    if find_spec("locust") is None:
        raise UsageError(
            f"{what} needs Locust, which {sys.executable} does not have; install it with: "
            "python -m pip install -r requirements.txt"
        )


class LocustEngine:
    """Sends one load after another; see `Engine`."""

    def __init__(self, session: LocustSession) -> None:
        self._session = session

    async def send(
        self, load: Load, *, on_finished: Callable[[int], None], into: Samples | None = None
    ) -> Samples:
        """Send a load and return its samples; of a cancelled one nothing is known.

        Raises:
            NoValidData: a process ended, or the load is none for Locust.
        """
        try:
            samples = await self._session.send(load, on_finished=on_finished)
        except (ValueError, LocustFailedError) as failure:
            raise NoValidData(str(failure)) from failure
        if into is None:
            return samples
        into.extend(samples)
        into.report = samples.report
        return into


@asynccontextmanager
async def start_locust_engine(locust: LocustWorkers) -> AsyncIterator[LocustEngine]:
    """Run Locust's processes until the block ends.

    Raises:
        NoValidData: not all workers came in time.
    """
    try:
        async with start_locust(
            workers=locust.here,
            remote_workers=locust.elsewhere,
            bind_host=locust.bind_host,
            bind_port=locust.bind_port,
            connect_s=CONNECT_ELSEWHERE_S if locust.elsewhere else CONNECT_HERE_S,
        ) as session:
            yield LocustEngine(session)
    except LocustFailedError as failure:
        raise NoValidData(str(failure)) from failure


def call_for_workers(locust: LocustWorkers) -> str:
    """Return what is to be done on other machines, for the person at the terminal."""
    return (
        f"waiting for {locust.elsewhere} workers; start each with:\n"
        "  locust -f loadgen/locust_run/locustfile.py --worker "
        f"--master-host ADDRESS --master-port {locust.bind_port}"
    )
