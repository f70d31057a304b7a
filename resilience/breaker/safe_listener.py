"""A guard around the listeners that pybreaker tells about its state."""

import logging

import pybreaker

_log = logging.getLogger("resilience")


class SafeListener(pybreaker.CircuitBreakerListener):
    """Keeps a listener's error out of pybreaker, which would stop half-way through the change."""

    def __init__(self, listener: pybreaker.CircuitBreakerListener) -> None:
        self._listener = listener

    def state_change(
        self,
        cb: pybreaker.CircuitBreaker,
        old_state: pybreaker.CircuitBreakerState | None,
        new_state: pybreaker.CircuitBreakerState,
    ) -> None:
        """Pass the change on."""
        try:
            self._listener.state_change(cb, old_state, new_state)
        except Exception:  # noqa: BLE001 - anybody's code
            _log.exception("the listener %r failed on %s", self._listener, new_state.name)
