"""A TCP proxy that makes a link sick on purpose, for any service and without touching it.

    python -m fault_proxy --listen 127.0.0.1:0 --upstream 127.0.0.1:5432 --control 127.0.0.1:0

or, in a test, `async with Proxy(...) as proxy: proxy.apply(fault)`. With no fault on, every byte
passes unchanged, whatever the protocol; a fault that is put on hits connections that stand.

    proxy       the port, the upstream and the faults between them
    control     the faults over HTTP, for another process
    faults/     what can be asked for: a frozen dataclass a kind, and what it does
    connection  a client, its connection to upstream, and the two flows between them
    flow        one direction: passes bytes at once, or holds them as the faults want
    http11/     requests and replies, where the connection speaks HTTP/1.1
    listener    the port, which may refuse

Faults of bytes are rolled once a connection, faults of requests once a request, each with dice of
its own: a seed gives the n-th connection or request the same fate in each run.
"""

from fault_proxy.faults.active import ActiveFault
from fault_proxy.faults.documents import (
    AnyFault,
    Bandwidth,
    BlackHole,
    Corrupt,
    Delay,
    Drip,
    FailFirst,
    HalfClose,
    Latency,
    Limit,
    Match,
    Refuse,
    Reset,
    Slice,
    Status,
    Truncate,
)
from fault_proxy.proxy import Proxy

__all__ = [
    "ActiveFault",
    "AnyFault",
    "Bandwidth",
    "BlackHole",
    "Corrupt",
    "Delay",
    "Drip",
    "FailFirst",
    "HalfClose",
    "Latency",
    "Limit",
    "Match",
    "Proxy",
    "Refuse",
    "Reset",
    "Slice",
    "Status",
    "Truncate",
]
