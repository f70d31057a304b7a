"""The ways in which requests end, each kept once and known by a small number."""

from collections.abc import Iterator
from typing import NamedTuple

from loadgen.outcomes import ERROR_CLASS

MOST_ENDINGS = 4096  # a server can make up endings without end


class Ending(NamedTuple):
    """A class, the reply's status if there was one, and for `error` the reason (else empty)."""

    outcome: str
    status: int | None = None
    error: str = ""


OTHER = Ending(ERROR_CLASS, None, f"other, beyond {MOST_ENDINGS} kinds")


class Endings:
    """A table of endings that only grows, up to MOST_ENDINGS; all further ones share one code."""

    def __init__(self) -> None:
        self._codes: dict[Ending, int] = {}

    def code(self, ending: Ending) -> int:
        """Return the code of *ending*, a new one if it has none: 0, 1, 2, ..."""
        code = self._codes.get(ending)
        if code is not None:
            return code
        if len(self._codes) >= MOST_ENDINGS and ending != OTHER:
            return self.code(OTHER)
        return self._codes.setdefault(ending, len(self._codes))

    def __iter__(self) -> Iterator[Ending]:
        """Yield the endings in the order of their codes."""
        return iter(self._codes)

    def __len__(self) -> int:
        return len(self._codes)
