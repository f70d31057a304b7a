"""What sends an experiment's loads: the lab's own generator, or Locust's processes."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from lab.load_worker import start_load_worker
from lab.locust_engine import start_locust_engine
from lab.spec.load import LocustWorkers
from loadgen import Load, Samples


class Engine(Protocol):
    """Sends one load after another in processes of its own."""

    async def send(self, load: Load, *, on_finished: Callable[[int], None]) -> Samples:
        """Send a load and return its samples; *on_finished* hears how many are done meanwhile.

        Raises:
            NoValidData: a process ended, or would not take the load.
        """


def start_engine(locust: LocustWorkers | None) -> AbstractAsyncContextManager[Engine]:
    """Run the engine until the block ends; it also ends by itself once the lab is gone.

    Args:
        locust: the workers of Locust; None for the lab's own generator.
    """
    return start_load_worker() if locust is None else start_locust_engine(locust)
