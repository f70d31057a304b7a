"""The ways in which requests end, each kept once and known by a small number."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from loadgen.outcomes import ERROR_CLASS

MOST_ENDINGS = 4096  # a server can make up endings without end
LONGEST_FAULT = 200
_MARK = b"x-chaos"


class Ending(NamedTuple):
    """A class, the reply's status if there was one, and for `error` the reason (else empty).

    `fault` names the faults that touched the reply, as it says in `X-Chaos`; empty: none, or
    there was no reply to say so.
    """

    outcome: str
    status: int | None = None
    error: str = ""
    fault: str = ""


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


def fault_of(headers: Mapping[bytes, bytes]) -> str:
    """Return the faults that a reply names in `X-Chaos`, by comma; empty if it names none."""
    mark = headers.get(_MARK)
    if mark is None:
        return ""
    text = mark.decode("latin-1").strip()
    return "".join(char for char in text if char.isprintable())[:LONGEST_FAULT]
