"""Colour for terminals."""

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import TextIO


class Colour(StrEnum):
    """SGR codes, each readable on a dark and on a light ground."""

    BOLD = "1"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"
    MAGENTA = "35"
    CYAN = "36"


def wants_colour(out: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether `out` is a terminal whose user has not asked for plain text.

    NO_COLOR, set to anything but an empty string, asks for it (no-color.org).
    """
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return False
    return out.isatty()


def painted(text: str, colour: Colour) -> str:
    """Return the text in this colour."""
    return f"\x1b[{colour}m{text}\x1b[0m" if colour else text
