"""Keeps attempts from waiting for a connection once they are let go."""

from dataclasses import replace

from resilience.checks.ranges import DAY_S, MAX_COUNT
from resilience.concurrency.bulkhead import BulkheadSettings
from resilience.source import Policies


def within_connections(policies: Policies, max_connections: int) -> Policies:
    """Return the policies with no more slots than there are connections, 1 or more.

    An attempt that waited for a connection after its token and the circuit's leave would be sent
    at a time that neither had meant, and its time-out would blame the source for the wait. So it
    waits before, for a slot: that of the bulkhead, or of one without bounds on the wait and the
    queue where the policies have none.
    """
    if policies.adaptive is not None:
        limits = policies.adaptive
        bounded = replace(
            limits,
            initial_limit=min(limits.initial_limit, max_connections),
            min_limit=min(limits.min_limit, max_connections),
            max_limit=min(limits.max_limit, max_connections),
        )
        return replace(policies, adaptive=bounded)
    if policies.bulkhead is not None:
        max_concurrent = min(policies.bulkhead.max_concurrent, max_connections)
        return replace(policies, bulkhead=replace(policies.bulkhead, max_concurrent=max_concurrent))
    slots = BulkheadSettings(max_concurrent=max_connections, max_queue=MAX_COUNT, max_wait_s=DAY_S)
    return replace(policies, bulkhead=slots)
