"""Addresses as one writes them."""

import ipaddress
from dataclasses import dataclass
from typing import Self

_LARGEST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class HostPort:
    """A TCP address."""

    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the address written as `host:port` or `[ipv6]:port`.

        Raises:
            ValueError: *text* is no such address.
        """
        host, _, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not port.isascii() or not port.isdigit() or int(port) > _LARGEST_PORT:
            raise ValueError(f"{text!r} is no address; write host:port, as 127.0.0.1:5432")
        return cls(host, int(port))

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it: a name (RFC 6761) or an address of loopback."""
        name = self.host.lower().removesuffix(".")
        if name == "localhost" or name.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return (mapped or address).is_loopback

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"
