"""Nobody else's hosts: what is loaded and made sick is on this machine, or named by its owner."""

from collections.abc import Collection
from urllib.parse import urlsplit

from lab.errors import UsageError
from lab.spec.system import System
from loadgen.hosts import is_loopback


def check_hosts(system: System, allowed: Collection[str]) -> None:
    """Refuse a system with a URL on another machine, unless the command names its host.

    Raises:
        UsageError: a service is at a host that is not *allowed*.
    """
    for service in system.services:
        host = host_of(service.url) if service.url else "localhost"
        if not is_loopback(host) and host not in {each.lower() for each in allowed}:
            raise UsageError(
                f"{system.path}: the service {service.name} is at {host}, which is another "
                f"machine; if it is yours to load and to make sick, add --allow-host {host}"
            )


def host_of(url: str) -> str:
    """Return the host of a URL, in lower case and without brackets."""
    return urlsplit(url).hostname or ""
