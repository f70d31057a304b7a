"""What the proxy has seen."""

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    """Totals since the start; those of open connections are added when one asks."""

    connections: int = 0
    open_connections: int = 0
    hit_connections: int = 0
    unreachable: int = 0  # connections for which upstream could not be reached
    upstream_bytes: int = 0  # passed from clients
    downstream_bytes: int = 0  # passed to clients, the proxy's own replies included
    requests: int = 0  # HTTP/1.1, recognised as such
    hit_requests: int = 0

    def as_wire(self) -> dict[str, object]:
        """Return what /stats tells."""
        return {
            "connections": {
                "total": self.connections,
                "open": self.open_connections,
                "hit": self.hit_connections,
                "unreachable": self.unreachable,
            },
            "bytes": {"upstream": self.upstream_bytes, "downstream": self.downstream_bytes},
            "requests": {"total": self.requests, "hit": self.hit_requests},
        }
