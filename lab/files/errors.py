"""What is wrong with a file, and where.

UsageError
└── FileError   for callers: every problem found in a file, a line each
Exception
└── Wrong       inside this package: one value is wrong; its reader knows where it stands
"""

import difflib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from lab.errors import UsageError

MAX_PROBLEMS = 20  # beyond these, a reader fixes the first ones and looks again
_SHOWN_CHARACTERS = 60

Value = TypeVar("Value")
Instead = TypeVar("Instead")


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
    """A file cannot be used; its text has one line a problem, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Wrong(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """A value is wrong.

    Args:
        what: goes after the name of the key, for instance `must be a whole number, got "on"`.
        advice: the next step; without it the key's own example is shown.
        place: where, if it is not the beginning of the value.
    """

    def __init__(self, what: str, *, advice: str = "", place: Place | None = None) -> None:
        self.what = what
        self.advice = advice
        self.place = place
        super().__init__(what)


class Problems:
    """Collects what is wrong with one file, so that all of it can be said at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: list[Problem] = []

    def add(self, place: Place, message: str) -> None:
        """Note a problem at *place*."""
        self._found.append(Problem(path=self.path, place=place, message=message))

    def attempt(
        self,
        name: str,
        place: Place,
        parse: Callable[[], Value],
        *,
        example: str,
        instead: Instead,
    ) -> Value | Instead:
        """Return what *parse* returns; if it says `Wrong`, note that and return *instead*."""
        try:
            return parse()
        except Wrong as wrong:
            advice = wrong.advice or f"write e.g. {example}"
            self.add(wrong.place or place, f"{name} {wrong.what}; {advice}")
            return instead

    def check(self) -> None:
        """Raise what was found.

        Raises:
            FileError: at least one problem was noted; holds the first `MAX_PROBLEMS` of them.
        """
        if self._found:
            raise FileError(sorted(self._found, key=lambda one: one.place)[:MAX_PROBLEMS])


def show(text: str) -> str:
    """Return *text* in double quotes on one line, shortened if it is long."""
    short = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
    return json.dumps(short, ensure_ascii=False)


def nearest(wrong: str, known: Iterable[str]) -> str | None:
    """Return the name of *known* that was probably meant by *wrong*."""
    matches = difflib.get_close_matches(wrong[:_SHOWN_CHARACTERS], list(known), n=1)
    return matches[0] if matches else None


def suggest(wrong: str, known: Iterable[str]) -> str:
    """Return the next step after an unknown name: the nearest known one, or all of them."""
    names = list(known)
    if meant := nearest(wrong, names):
        return f"did you mean {show(meant)}?"
    if not names:
        return "there is none to choose from, so remove it"
    return "choose one of " + ", ".join(show(name) for name in names)


def _printable(line: str) -> str:
    return "".join(one if one.isprintable() else _escape(one) for one in line)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
