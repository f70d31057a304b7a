"""How long to wait before each retry, with jitter that forked processes do not share."""

import math
import os
from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Literal, get_args
from weakref import WeakSet

from resilience._internal.checks import DAY_S

Backoff = Literal["constant", "linear", "exponential"]
BACKOFFS: tuple[Backoff, ...] = get_args(Backoff)

_SPREAD = 0.5
_SCALE = 1 / 1.4


def delays_s(
    kind: Backoff, base_s: float, *, jitter: bool, max_s: float | None, random: Random
) -> Iterator[float]:
    """Yield the delays before the retries of one call, in seconds, without end.

    With retry a = 0, 1, 2… and base b: constant b, linear (a+1)·b, exponential 2^a·b. Jitter draws
    u from [0, 1) anew for each delay. Constant and linear delays are multiplied by 0.75 + 0.5·u.
    Exponential ones are decorrelated: with t = a + u and n = 2^t·tanh(sqrt(4·t)), the delay is
    b·(n - n of the delay before)/1.4, which spreads retries evenly and stays within b·2^a·4.

    Args:
        kind: The shape of growth.
        base_s: b, >= 0; with 0 every delay is 0.
        jitter: Whether to draw u.
        max_s: Longest delay; None means a day, which also bounds what grows past any float.
        random: Source of u.

    Source: Polly 8's retry delays; the decorrelated jitter is that of Polly.Contrib.WaitAndRetry.
    """
    longest_s = DAY_S if max_s is None else max_s
    decorrelated = jitter and kind == "exponential"
    for factor in _decorrelated(random) if decorrelated else _growth(kind):
        spread = 1.0
        if jitter and not decorrelated:
            spread = 1 - _SPREAD / 2 + _SPREAD * random.random()
        yield 0.0 if base_s == 0 else min(base_s * factor * spread, longest_s)


def _growth(kind: Backoff) -> Iterator[float]:
    for retry in count():
        if kind == "constant":
            yield 1.0
        elif kind == "linear":
            yield retry + 1.0
        else:
            yield _power_of_two(retry)


def _decorrelated(random: Random) -> Iterator[float]:
    before = 0.0
    for retry in count():
        t = retry + random.random()
        n = _power_of_two(t) * math.tanh(math.sqrt(4 * t))
        yield (n - before) * _SCALE if math.isfinite(n) else math.inf
        before = n


def _power_of_two(exponent: float) -> float:
    try:
        return float(2**exponent)
    except OverflowError:
        return math.inf


_drawn_from: WeakSet[Random] = WeakSet()


def seeded_anew_in_forks(random: Random) -> Random:
    """Return `random`, which is seeded by the system in each process that is forked from now on.

    Otherwise all would draw the same jitter as their parent, and retry at the same moments. Python
    does so with the generator of its module `random`.
    """
    _drawn_from.add(random)
    return random


def _seed_anew() -> None:
    for random in _drawn_from:
        random.seed()


if hasattr(os, "register_at_fork"):  # where processes fork
    os.register_at_fork(after_in_child=_seed_anew)
