"""When which fault was on, as far as it was seen."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

KEPT_S = 300.0


@dataclass(slots=True, kw_only=True)
class Window:
    """A fault, in words, from one moment of the wall clock to another."""

    label: str
    from_s: float
    until_s: float | None = None  # None: still on

    def as_wire(self) -> dict[str, object]:
        """Return it for the page's script."""
        return {"label": self.label, "fromS": self.from_s, "untilS": self.until_s}


class FaultWindows:
    """The faults of the last `KEPT_S` seconds; one that changes ends, and another begins."""

    def __init__(self) -> None:
        self._windows: list[Window] = []

    def observe(self, at_s: float, labels: Collection[str]) -> None:
        """Note that at *at_s* the faults of *labels*, and no others, are on."""
        still_on = {each.label: each for each in self._windows if each.until_s is None}
        for label, window in still_on.items():
            if label not in labels:
                window.until_s = at_s
        self._windows += [
            Window(label=label, from_s=at_s) for label in labels if label not in still_on
        ]
        self._windows = [
            each for each in self._windows if each.until_s is None or each.until_s > at_s - KEPT_S
        ]

    def __iter__(self) -> Iterator[Window]:
        return iter(self._windows)
