"""Templates in a file: every `{…}` in them must be known once the services run."""

from collections.abc import Iterable

from lab.files.errors import Wrong, show, suggest
from lab.files.scalars import Parser, line
from lab.files.tree import Node
from lab.templates import placeholders

OWN = ("python", "port")  # what a service may say of itself


def addresses(services: Iterable[str]) -> tuple[str, ...]:
    """Return the placeholders for where *services* can be reached."""
    return tuple(f"{service}.{part}" for service in services for part in ("url", "port"))


def template(known: Iterable[str], *, services: Iterable[str] = ()) -> Parser[str]:
    """Return a parser of one line of text whose placeholders are all *known*.

    Args:
        known: placeholders without braces.
        services: all services there are, known here or not, to tell what is missing.
    """
    names, all_services = tuple(known), tuple(services)

    def parse(node: Node) -> str:
        value = line(node)
        for placeholder in placeholders(value):
            if placeholder not in names:
                advice = _advice(placeholder, names, all_services)
                raise Wrong(
                    f"has the unknown placeholder {show(_braced(placeholder))}", advice=advice
                )
        return value

    return parse


def _advice(placeholder: str, known: tuple[str, ...], services: tuple[str, ...]) -> str:
    service, dot, part = placeholder.partition(".")
    if dot and service in services and part in {"url", "port"}:
        return f"add {service} to needs"
    return suggest(_braced(placeholder), map(_braced, known))


def _braced(placeholder: str) -> str:
    return "{" + placeholder + "}"
