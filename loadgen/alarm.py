"""An alarm clock finer than the loop's own timers, which step by whole milliseconds."""

import asyncio
import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter

_CLOCK_MONOTONIC = 1  # the clock of `time.perf_counter` on Linux
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC if hasattr(os, "O_CLOEXEC") else 0
_TFD_TIMER_ABSTIME = 1


class _Spec(ctypes.Structure):
    """`struct itimerspec`: interval, then first expiry, each as seconds and nanoseconds."""

    _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "at_s", "at_ns")]


class Alarm:
    """Calls *ring* at a moment of `time.perf_counter`; by a timerfd where the system has one."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = -1
        with suppress(AttributeError):  # a system without timerfd
            self._descriptor = self._libc.timerfd_create(_CLOCK_MONOTONIC, _FLAGS)
        if self._descriptor >= 0:
            self._loop.add_reader(self._descriptor, self._on_expiry)

    def set(self, moment: float) -> None:
        """Ring once at *moment*, or at once if that has passed; a former setting is forgotten."""
        if self._descriptor < 0:
            self.unset()
            self._timer = self._loop.call_later(max(0.0, moment - perf_counter()), self._ring)
            return
        seconds = int(moment)
        spec = _Spec(0, 0, seconds, max(1, int((moment - seconds) * 1e9)))
        self._libc.timerfd_settime(self._descriptor, _TFD_TIMER_ABSTIME, ctypes.byref(spec), None)

    def unset(self) -> None:
        """Do not ring."""
        if self._timer is not None:
            self._timer.cancel()

    def close(self) -> None:
        """Do not ring, and give the descriptor back."""
        self.unset()
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _on_expiry(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._descriptor, 8)
        self._ring()
