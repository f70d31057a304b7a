"""The URL of something that runs already."""

from urllib.parse import urlsplit

from lab.files.errors import Wrong, show
from lab.files.scalars import name
from lab.files.tree import Node
from loadgen.hosts import is_loopback

_SCHEMES = ("http", "https", "tcp")


def service_url(node: Node) -> str:
    """Return the URL of a service, without a slash at its end; `tcp` stands for any protocol."""
    url = name(node)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as problem:
        raise Wrong(f"is no URL: {problem}, got {show(url)}") from None
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise Wrong(f"must be a URL with http, https or tcp, got {show(url)}")
    if parts.scheme == "tcp" and (port is None or parts.path):
        raise Wrong(
            f"must be a host and a port, got {show(url)}", advice="write e.g. tcp://127.0.0.1:5432"
        )
    if parts.username is not None or parts.query or parts.fragment or not url.isascii():
        raise Wrong(f"must have no password, query or fragment, got {show(url)}")
    return url.rstrip("/")


def this_machine_url(node: Node) -> str:
    """Return an HTTP URL on this machine, without a slash at its end."""
    url = service_url(node)
    host = urlsplit(url).hostname or ""
    if not url.startswith("http://") or not is_loopback(host):
        raise Wrong(f"must be an http URL on this machine, got {show(url)}")
    return url
