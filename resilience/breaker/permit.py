"""Leave for one call, from a circuit breaker: a promise to say how the call went."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from resilience.errors import Cause
from resilience.outcome import Verdict

if TYPE_CHECKING:
    from resilience.breaker.circuit_breaker import CircuitBreaker


class Permit:
    """Leave for one call; settle it exactly once by `success`, `failure` or `release`.

    As a context manager it settles itself: an exception is a failure, a cancellation (any
    exception that is no `Exception`) gives the permit back, anything else is a success.
    """

    __slots__ = ("_breaker", "_settled", "generation")

    def __init__(self, breaker: "CircuitBreaker", generation: int) -> None:
        self._breaker = breaker
        self._settled = False
        self.generation = generation

    def success(self, at_s: float | None = None) -> None:
        """Report that the source answered well: `at_s` on the breaker's clock, or else now."""
        self._settle()
        self._breaker._on_success(self, at_s)  # noqa: SLF001 - a permit is the breaker's other half

    def failure(self, cause: Cause) -> None:
        """Report that the source failed with `cause`."""
        self._settle()
        self._breaker._on_failure(self, cause)  # noqa: SLF001

    def release(self) -> None:
        """Give the permit back: the call says nothing about the source."""
        self._settle()
        self._breaker._on_release(self)  # noqa: SLF001

    def settle(self, verdict: Verdict, cause: BaseException | int) -> None:
        """Report what `cause`, the call's status or exception, says about the source."""
        if verdict is Verdict.SUCCESS:
            self.success()
        elif verdict is Verdict.FAILURE and isinstance(cause, Cause):
            self.failure(cause)
        else:
            self.release()

    def _settle(self) -> None:
        self._expect_unsettled()
        self._settled = True

    def _expect_unsettled(self) -> None:
        if self._settled:
            raise RuntimeError("the permit was settled before; ask the breaker for one a call")

    def __enter__(self) -> Self:
        self._expect_unsettled()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._settled:
            return
        if error is None:
            self.success()
        elif isinstance(error, Exception):
            self.failure(error)
        else:
            self.release()
