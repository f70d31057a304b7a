"""What the proxy has seen."""

import errno
import socket
from collections import Counter
from dataclasses import dataclass, field

# What this process or machine lacks for a connection; the server is not to blame for it.
_OWN_WANTS = {
    errno.EMFILE: "too many open files",
    errno.ENFILE: "too many open files on this machine",
    errno.ENOBUFS: "no buffer space",
    errno.ENOMEM: "no memory",
    errno.EADDRNOTAVAIL: "no free local port",
}


def own_want(failure: OSError) -> str:
    """Return what the proxy lacked for a connection; empty if it lacked nothing."""
    if isinstance(failure, socket.gaierror):  # with numbers of its own
        return ""
    return _OWN_WANTS.get(failure.errno or 0, "")


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
    stalled_s: float = 0.0  # how long the proxy's event loop stood still
    own_failures: Counter[str] = field(default_factory=Counter)  # connections, by what was lacking

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
            "stalledS": self.stalled_s,
            "ownFailures": dict(self.own_failures),
        }
