"""The layer that holds calls back from a sick source."""

import httpx

from resilience.call import Call, Layer
from resilience.circuit_breaker import CircuitBreaker, Permit
from resilience.errors import CircuitOpen
from resilience.events import CallRejected
from resilience.outcome import Verdict, is_transient_status, verdict_on
from resilience.subscribers import Subscribers


class BreakerLayer:
    """Asks the circuit breaker for leave before each attempt and reports how it went.

    A transient status or error is a failure; see `outcome.verdict_on` for the rest.
    """

    def __init__(
        self, breaker: CircuitBreaker, inner: Layer, *, source: str, subscribers: Subscribers
    ) -> None:
        self._breaker = breaker
        self._inner = inner
        self._source = source
        self._subscribers = subscribers

    async def __call__(self, call: Call) -> httpx.Response:
        """Run the inner layers, or raise CircuitOpen without calling them."""
        permit = self._admit(call)
        try:
            response = await self._inner(call)
        except BaseException as error:
            _report(permit, error)
            raise
        if is_transient_status(response.status_code):
            permit.failure(response.status_code)
        else:
            permit.success()
        return response

    def _admit(self, call: Call) -> Permit:
        try:
            return self._breaker.admit()
        except CircuitOpen as rejection:
            self._subscribers.tell(
                CallRejected,
                source=self._source,
                attempt=call.attempt,
                retry_after_s=rejection.retry_after_s,
            )
            raise


def _report(permit: Permit, error: BaseException) -> None:
    verdict = verdict_on(error)
    if verdict is Verdict.SUCCESS:
        permit.success()
    elif verdict is Verdict.FAILURE and isinstance(error, Exception):
        permit.failure(error)
    else:
        permit.release()
