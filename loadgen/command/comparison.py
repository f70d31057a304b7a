"""Two loads sent in turn, round after round: the ratio of their figures, with its spread. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from loadgen.command.figures import SHARES, Figures

_Figure = Callable[[Figures], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One figure of A and of B over all rounds that have it on both sides.

    Attributes:
        name: of the figure, with its unit.
        a, b: medians over the rounds; None where no round has both.
        ratios: b / a of each round, in their order.
    """

    name: str
    a: float | None
    b: float | None
    ratios: Sequence[float]

    @property
    def median(self) -> float | None:
        """The median of the ratios."""
        return median(self.ratios) if self.ratios else None

    @property
    def least(self) -> float | None:
        """The smallest of the ratios, where there are two at least."""
        return min(self.ratios) if len(self.ratios) > 1 else None

    @property
    def most(self) -> float | None:
        """The largest of the ratios, where there are two at least."""
        return max(self.ratios) if len(self.ratios) > 1 else None

    @property
    def agreeing(self) -> int:
        """How many rounds lie on the median's side of 1."""
        middle = self.median
        if middle is None or middle == 1:
            return 0
        return sum((ratio > 1) == (middle > 1) and ratio != 1 for ratio in self.ratios)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The figures of A and of B, sent one right after the other."""

    a: Figures
    b: Figures


def is_a_first(number: int) -> bool:
    """Tell which of the two a round, counted from 0, begins with.

    They swap from round to round, so that a machine that gets slower or faster meanwhile does so
    for both: A B, B A, A B, ...
    """
    return number % 2 == 0


def ratios_of(rounds: Sequence[Round]) -> list[Ratio]:
    """Return the ratio of each figure: the rate of all requests, and the latencies of successes."""
    return [_ratio(name, figure, rounds) for name, figure in _FIGURES.items()]


def _ratio(name: str, figure: _Figure, rounds: Sequence[Round]) -> Ratio:
    pairs = [
        (a, b)
        for each in rounds
        if (a := figure(each.a)) is not None and (b := figure(each.b)) is not None and a > 0
    ]
    return Ratio(
        name=name,
        a=median(a for a, _ in pairs) if pairs else None,
        b=median(b for _, b in pairs) if pairs else None,
        ratios=[b / a for a, b in pairs],
    )


def _percentile(name: str) -> _Figure:
    return lambda figures: figures.success.percentiles_ms[name]


_FIGURES: dict[str, _Figure] = {
    "requests/s": lambda figures: figures.requests_per_s,
    "mean ms": lambda figures: figures.success.mean_ms,
    **{f"{name} ms": _percentile(name) for name in SHARES},
}
