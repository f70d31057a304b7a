"""Locust's master and workers as the sender of an experiment's loads.

What a run leaves is the same as with the lab's own generator, since every request's sample is taken
and kept by `loadgen`: Locust rounds its own percentiles to whole milliseconds below 100 ms and to
two digits above, and none of its figures reaches the results. Only its counts are used, to be held
against the samples. Latencies are those that Locust's client sees, and that client is slower than
the lab's own: compare runs of one engine.
"""

import sys
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec

from lab.errors import UsageError
from lab.spec.load import LocustWorkers
from loadgen.locust_run import LocustSession, start_locust

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


def start_session(locust: LocustWorkers) -> AbstractAsyncContextManager[LocustSession]:
    """Run Locust's processes until the block ends; see `start_locust`."""
    return start_locust(
        workers=locust.here,
        remote_workers=locust.elsewhere,
        bind_host=locust.bind_host,
        bind_port=locust.bind_port,
        connect_s=CONNECT_ELSEWHERE_S if locust.elsewhere else CONNECT_HERE_S,
    )


def call_for_workers(locust: LocustWorkers) -> str:
    """Return what is to be done on other machines, for the person at the terminal."""
    return (
        f"waiting for {locust.elsewhere} workers; start each with:\n"
        "  locust -f loadgen/locust_run/locustfile.py --worker "
        f"--master-host ADDRESS --master-port {locust.bind_port}"
    )
