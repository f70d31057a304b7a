"""What the request faults that are on do to one request: a pure decision."""

import random
from collections.abc import Iterable
from dataclasses import dataclass

from fault_proxy.faults.documents import (
    AnyRequestFault,
    Delay,
    Drip,
    FailFirst,
    Status,
    Truncate,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A fault that hits a request, with what the dice gave it."""

    fault_id: str
    fault: AnyRequestFault
    delay_s: float = 0.0  # > 0 for a `Delay`


def judge(fault_id: str, fault: AnyRequestFault, dice: random.Random, n: int) -> Hit | None:
    """Return the hit of *fault* on the *n*-th request that matches (n >= 1), if it is one.

    Exactly two numbers are drawn from *dice* a request, whatever comes of it: with a seed, the
    n-th request meets the same fate in each run.
    """
    roll, jitter_roll = dice.random(), dice.random()
    delay_s = 0.0
    match fault:
        case FailFirst():
            is_hit = n <= fault.requests
        case Delay():
            delay_s = max(0.0, fault.delay_ms + fault.jitter_ms * (2 * jitter_roll - 1)) / 1000
            is_hit = roll < fault.probability and delay_s > 0
        case Status() | Drip() | Truncate():
            is_hit = roll < fault.probability
    return Hit(fault_id=fault_id, fault=fault, delay_s=delay_s) if is_hit else None


def in_effect(hits: Iterable[Hit], *, body: bool) -> tuple[Hit, ...]:
    """Return those of *hits* that take effect, in the order of their effect.

    An answer of the proxy's own (the first one counts) is neither dripped nor truncated, nor is
    a reply without a *body*.
    """
    hits = tuple(hits)
    delays = tuple(hit for hit in hits if isinstance(hit.fault, Delay))
    answers = tuple(hit for hit in hits if isinstance(hit.fault, Status | FailFirst))
    if answers:
        return (*delays, answers[0])
    if not body:
        return delays
    return (
        *delays,
        *[hit for hit in hits if isinstance(hit.fault, Drip)],
        *[hit for hit in hits if isinstance(hit.fault, Truncate)],
    )
