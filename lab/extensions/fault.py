"""What a fault of a user's own has to be."""

import random
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Protocol

from lab.extensions.target import Target

StillOn = Callable[[], Awaitable[bool]]  # is the fault still on?


class CountingFault(Protocol):
    """A fault in force that knows how many requests, or connections, it does something to."""

    async def is_active(self) -> bool:
        """Tell whether it still is on."""

    async def touched(self) -> int:
        """Return how many it has touched since it was applied."""


class FaultExtension(Protocol):
    """A kind of fault. Its constructor takes the options of the file as keyword arguments.

    It says what is wrong with them by raising `ValueError`, before anything is started.

    Attributes:
        kind: the key in the file; its value there names the service.
    """

    kind: ClassVar[str]

    def applied(
        self, target: Target, chance: random.Random
    ) -> AbstractAsyncContextManager[StillOn | CountingFault | None]:
        """Return what applies the fault when entered and reverts it when left.

        It is left however the run ends, always as if the block had gone well, so that reverting
        needs no `finally`. Entering and leaving have 10 s each. In between, the load is sent.

        Args:
            target: the service, and what can be done to it.
            chance: for all dice; of the run's seed.

        Returns:
            A context manager that yields a question, which is asked after each load: a run under a
            fault that had gone does not count. None: it cannot have gone. A fault that counts what
            it touches yields both questions in one object: a run under a fault that has touched
            nothing does not count either.
        """
