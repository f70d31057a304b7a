"""Templates over `{name}` and `{service.url}`: what is left open in a file until ports are known.

Braces around anything else are ordinary text, so that a JSON value needs no escaping.
"""

import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][\w-]*(?:\.[A-Za-z_]\w*)?)\}")


def placeholders(template: str) -> tuple[str, ...]:
    """Return the names in *template*'s placeholders, in order, without the braces."""
    return tuple(_PLACEHOLDER.findall(template))


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return *template* with each placeholder replaced by its value.

    Args:
        template: for instance `{front.url}/convert`.
        values: by the placeholder's name, for instance `{"front.url": "http://127.0.0.1:5402"}`.

    Raises:
        KeyError: a placeholder has no value.
    """
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)
