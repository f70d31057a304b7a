"""Jitter that forked processes do not have in common."""

import os
from random import Random
from weakref import WeakSet

_drawn_from: WeakSet[Random] = WeakSet()


def seeded_anew_in_forks(random: Random) -> Random:
    """Return `random`, which is seeded by the system in each process that is forked from now on.

    Else all would draw the same jitter as their parent, and retry at the same moments. Python does
    so with the generator of its module `random`.
    """
    _drawn_from.add(random)
    return random


def _seed_anew() -> None:
    for random in _drawn_from:
        random.seed()


if hasattr(os, "register_at_fork"):  # where processes fork
    os.register_at_fork(after_in_child=_seed_anew)
