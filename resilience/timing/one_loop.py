"""Which event loop something is used on: any, but one at a time."""

import asyncio
import os
from collections.abc import Callable
from threading import Lock

_TWO_LOOPS = (
    "the client is in use on another event loop, which runs in another thread; make a client for "
    "each loop, or send the call to the loop of this one: "
    "asyncio.run_coroutine_threadsafe(client.get(...), loop)"
)
_FORKED = (
    "the client was in use when this process was forked: its calls and connections are the "
    "parent's; make a client in the child"
)


class OneLoop:
    """Lets what is not thread-safe go from one event loop to the next, and no two use it at once.

    Args:
        on_clock_set_back: Told by how many seconds the next loop's clock is behind the last one's,
            as a loop of virtual time may be. All others share the system's.
    """

    def __init__(self, on_clock_set_back: Callable[[float], None]) -> None:
        self._on_clock_set_back = on_clock_set_back
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0
        self._changing = Lock()

    def enter(self) -> None:
        """Note that the running loop is the one, from now on.

        Raises:
            RuntimeError: Another one still runs.
        """
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._change_to(loop)

    def _change_to(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._changing:
            if self._loop is not None:
                self._expect_over(self._loop)
                behind_s = self._loop.time() - loop.time()
                if behind_s > 0:
                    self._on_clock_set_back(behind_s)
            self._loop, self._pid = loop, os.getpid()

    def _expect_over(self, loop: asyncio.AbstractEventLoop) -> None:
        if loop.is_running():  # in a forked process, as its copy was
            raise RuntimeError(_TWO_LOOPS if self._pid == os.getpid() else _FORKED)
