"""Whose turn it is among weighted requests."""

from collections.abc import Iterator, Sequence


def weighted_turns(weights: Sequence[float]) -> Iterator[int]:
    """Yield indexes for ever, each as often as its weight says and as evenly spread as can be.

    Smooth weighted round-robin (as nginx picks its servers): each gains its weight, the one that is
    ahead is taken and pays the sum of all. After n turns each count is within len(weights) of its
    exact share, so that no chance enters into the mix.

    Args:
        weights: each > 0, at least one.
    """
    total = sum(weights)
    credit = [0.0] * len(weights)
    while True:
        credit = [have + gain for have, gain in zip(credit, weights, strict=True)]
        turn = max(range(len(credit)), key=credit.__getitem__)
        credit[turn] -= total
        yield turn
