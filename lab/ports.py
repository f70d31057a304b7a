"""Free ports that no outgoing connection can take while their service restarts."""

import random
import socket
from pathlib import Path

_EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST = 10_000
_USUAL_FIRST_EPHEMERAL = 32_768
_TRIES = 200


def free_port(taken: set[int], chance: random.Random) -> int:
    """Return a free loopback port below the system's ephemeral range and not among *taken*.

    The kernel gives outgoing connections ports of the ephemeral range; a service that restarts on
    such a port may find it in use.

    Raises:
        OSError: no free port was found.
    """
    end = _first_ephemeral()
    for _ in range(_TRIES):
        port = chance.randrange(_FIRST, end)
        if port not in taken and can_listen(port):
            return port
    raise OSError(f"no free port between {_FIRST} and {end}; end some servers and try again")


def _first_ephemeral() -> int:
    try:
        first = int(_EPHEMERAL_RANGE.read_text().split()[0])
    except OSError:
        return _USUAL_FIRST_EPHEMERAL
    return first if first > _FIRST + _TRIES else _USUAL_FIRST_EPHEMERAL


def can_listen(port: int) -> bool:
    """Tell whether a loopback port is free to listen on."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
