"""Nobody else's hosts: what is this machine, and which other hosts a load may go to."""

from collections.abc import Collection
from ipaddress import ip_address

from loadgen.url import parse_url


def check_host(url: str, allowed: Collection[str]) -> None:
    """Refuse a URL whose host is neither loopback, a unix socket, nor among *allowed*.

    Raises:
        ValueError: it is such a host, or no URL at all.
    """
    host = parse_url(url).origin.host.lower()
    if not host or is_loopback(host) or host in {name.lower().strip("[]") for name in allowed}:
        return
    raise ValueError(
        f"{host} is not this machine; to send it a load that its owner agrees to, "
        f"add --allow-host {host}"
    )


def is_loopback(host: str) -> bool:
    """Tell whether *host* is a name (RFC 6761) or an address of this machine; asks no resolver.

    Args:
        host: a name in any case, also with the dot of a full name at its end, or an IPv4 or
            IPv6 address without brackets; an IPv4 address may be mapped into IPv6.
    """
    name = host.lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
