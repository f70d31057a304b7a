from collections.abc import Iterator

import pytest
import stamina

from benchmarks.million_calls import PHASES, simulate


@pytest.fixture
def _quiet() -> Iterator[None]:
    """Spare the log a warning for each of the retries."""
    stamina.instrumentation.set_on_retry_hooks([])
    yield
    stamina.instrumentation.set_on_retry_hooks(None)


@pytest.mark.usefixtures("_quiet")
def test_thirty_thousand_calls_through_every_policy_keep_every_promise() -> None:
    """The simulation asserts the promises at each request, and the identities at its end."""
    simulated = simulate(30_000, seed=2, phase_s=0.4)
    counted = simulated.counted
    assert counted.requests == 30_000
    assert set(simulated.requests) == set(PHASES)
    assert min(counted.retries, counted.http_429, counted.circuit_opened) > 0
    assert min(counted.rate_limit_waits, counted.circuit_rejects) > 0
    assert min(counted.hedges, simulated.stale) > 0
    assert len(simulated.limits) > 1
    assert counted.ok > 25_000
