"""Chance that always draws the same."""

from random import Random


class FixedRandom(Random):
    """Draws `value` for ever."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def random(self) -> float:
        """Return the one value."""
        return self._value
