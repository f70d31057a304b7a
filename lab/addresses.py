"""Where the services of a system are: a free port each, or where they run already."""

import random
from urllib.parse import urlsplit

from lab import redis_server
from lab.ports import free_port
from lab.spec.system import Service, System

USUAL_PORTS = {"http": 80, "https": 443, "redis": 6379, "rediss": 6379}


def addresses_of(system: System) -> dict[str, str]:
    """Return `{"rates.url": "http://127.0.0.1:10302", "rates.port": "10302", ...}`.

    A backing server or a service by URL that runs already keeps its own address.
    """
    taken: set[int] = set()
    values = {}
    for service in system.services:
        url = _url_of_running(service)
        if url is None:
            port = free_port(taken, random.SystemRandom())
            taken.add(port)
            url = f"redis://127.0.0.1:{port}/0" if service.backing else f"http://127.0.0.1:{port}"
        values[f"{service.name}.url"] = url
        values[f"{service.name}.port"] = str(port_of(url) or "")
    return values


def port_of(url: str) -> int | None:
    """Return the port that *url* leads to; None where it names no port, as a socket's path."""
    parts = urlsplit(url)
    return parts.port or (USUAL_PORTS.get(parts.scheme) if parts.hostname else None)


def _url_of_running(service: Service) -> str | None:
    return redis_server.url_of_running_server() if service.backing else service.url
