"""What is wrong with a file, and where.

UsageError
└── FileError       for callers: every problem found in a file, one line each
loadgen.QuantityError
└── Wrong           inside this package: one value is wrong; who reads it knows its key and place
"""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.errors import UsageError
from loadgen.quantities import QuantityError, show

MAX_PROBLEMS = 20  # beyond these, a reader fixes the first ones and looks again
_LONGEST_NAME = 60  # that is compared with others


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """A position in a file; both numbers count from 1, as editors do."""

    line: int
    column: int


START = Place(line=1, column=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong: what happened, the value and the next step."""

    path: Path
    place: Place
    message: str

    def __str__(self) -> str:
        """Return `path:line:column: message`, always one printable line."""
        return _printable(f"{self.path}:{self.place.line}:{self.place.column}: {self.message}")


class FileError(UsageError):
    """A file cannot be used; its text has one line per problem, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Wrong(QuantityError):  # noqa: N818 - reads as a sentence where it is raised
    """A value is wrong.

    Args:
        what: goes after the name, for instance `must be a whole number, got "on"`.
        advice: the next step; where there is none, the example of the key is shown.
        name: of what is wrong; None: its key; empty: *what* names it.
        place: where; None: where the value stands.
        at: a key of the mapping that is wrong, at which the problem stands.
    """

    def __init__(
        self,
        what: str,
        *,
        advice: str = "",
        name: str | None = None,
        place: Place | None = None,
        at: str = "",
    ) -> None:
        super().__init__(what, advice=advice)
        self.name = name
        self.place = place
        self.at = at

    def __str__(self) -> str:
        """Return the message: the name, what is wrong and the next step."""
        said = f"{self.name} {self.what}" if self.name else self.what
        return f"{said}; {self.advice}" if self.advice else said


class Problems:
    """Collects what is wrong with one file, so that all of it can be said at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: list[Problem] = []

    def add(self, place: Place, message: str) -> None:
        """Note a problem at *place*."""
        self._found.append(Problem(path=self.path, place=place, message=message))

    @contextmanager
    def at(self, name: str, place: Place) -> Iterator[None]:
        """Note what the block finds `Wrong` with the value called *name* at *place*."""
        try:
            yield
        except Wrong as wrong:
            wrong.name = name if wrong.name is None else wrong.name
            self.add(wrong.place or place, str(wrong))

    def check(self) -> None:
        """Raise what was found.

        Raises:
            FileError: at least one problem was noted; holds the first `MAX_PROBLEMS` of them.
        """
        if self._found:
            raise FileError(sorted(self._found, key=lambda one: one.place)[:MAX_PROBLEMS])


def nearest(wrong: str, known: Iterable[str]) -> str | None:
    """Return the name of *known* that was probably meant by *wrong*."""
    matches = difflib.get_close_matches(wrong[:_LONGEST_NAME], list(known), n=1)
    return matches[0] if matches else None


def suggest(wrong: str, known: Iterable[str]) -> str:
    """Return the next step after an unknown name: the nearest known one, or all of them."""
    names = list(known)
    if meant := nearest(wrong, names):
        return f"did you mean {show(meant)}?"
    if not names:
        return "there is none to choose from, so remove it"
    return "choose one of " + ", ".join(show(name) for name in names)


def unknown_key(key: str, known: Iterable[str], *, place: Place | None = None) -> Wrong:
    """Return that *key* is none of the keys *known*."""
    return Wrong(f"unknown key {show(key)}", name="", advice=suggest(key, known), place=place)


def check_known(value: str, known: Iterable[str], *, kind: str) -> None:
    """Refuse a name that is none of those *known*; *kind* says what they name.

    Raises:
        Wrong: with the nearest known name.
    """
    names = list(known)
    if value not in names:
        raise Wrong(f"names {show(value)}, which is no {kind}", advice=suggest(value, names))


def _printable(line: str) -> str:
    return "".join(one if one.isprintable() else _escape(one) for one in line)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
