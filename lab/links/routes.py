"""Addresses as each caller sees them: a service's own, or that of the place on the link to it."""

from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from lab.addresses import port_of
from lab.errors import NoValidData
from lab.links.place import Place
from lab.spec.system import Link

_ENCRYPTED = ("https", "rediss")  # the proxy has no certificate for the name that is called


def seen_from(
    source: str, addresses: Mapping[str, str], places: Mapping[Link, Place]
) -> dict[str, str]:
    """Return *addresses*, in which those of links from *source* lead through their places.

    Args:
        source: a service, or `LOAD`.
        addresses: `{"rates.url": ..., "rates.port": ..., ...}` of all services.
        places: by link.
    """
    seen = dict(addresses)
    for link, place in places.items():
        if link.source == source:
            url = f"{link.target}.url"
            seen[url] = _through(addresses[url], place.port)
            seen[f"{link.target}.port"] = str(place.port)
    return seen


def upstream_of(link: Link, addresses: Mapping[str, str]) -> str:
    """Return the target of *link* as `host:port`.

    Raises:
        NoValidData: it is no place that a plain TCP connection leads to.
    """
    url = addresses[f"{link.target}.url"]
    parts = urlsplit(url)
    port = port_of(url)
    if not parts.hostname or port is None or parts.scheme in _ENCRYPTED:
        raise NoValidData(
            f"no proxy can be put on {link}: {link.target} is reached by {parts.scheme}, and it "
            "passes plain TCP on; give the service a host and a port, or remove the fault"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{host}:{port}"


def _through(url: str, port: int) -> str:
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}{at}127.0.0.1:{port}"))
