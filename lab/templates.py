"""Placeholders in commands, environments and URLs: `{python}`, `{port}`, `{rates.url}`."""

import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][\w-]*(?:\.[a-z]+)?)\}")


def placeholders(template: str) -> list[str]:
    """Return the names between braces, in order; other braces are plain text."""
    return _PLACEHOLDER.findall(template)


def expand(template: str, values: Mapping[str, str]) -> str:
    """Replace each placeholder by its value; `KeyError` names one that has none."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)
