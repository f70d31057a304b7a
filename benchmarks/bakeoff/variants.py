"""Every way of making the call, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from types import MappingProxyType

import httpx
import pybreaker
from hyx.circuitbreaker.exceptions import BreakerFailing
from purgatory.domain.model import OpenedState

from benchmarks.bakeoff import (
    httpx_retries,
    hyx,
    no_policy,
    pipeline,
    stamina_pybreaker,
    tenacity_purgatory,
)
from benchmarks.bakeoff.budget import Caller
from resilience import CircuitOpen
from resilience.wire.connections import Connections
from resilience.wire.transport import AttemptTransport

MAX_CONNECTIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way of making the call.

    Attributes:
        caller: Makes it.
        rejection: What it raises instead of calling while its circuit is open; None without one.
        libraries: The distributions that it is made of, beside httpx.
        transport: Returns the wire that it comes with, for at most so many connections.
    """

    caller: Caller
    rejection: type[Exception] | None = None
    libraries: tuple[str, ...] = ()
    transport: Callable[[int], httpx.AsyncBaseTransport]

    @property
    def versions(self) -> str:
        """Name the libraries with their versions; empty if there are none."""
        return ", ".join(f"{each} {version(each)}" for each in self.libraries)


def _httpx_transport(max_connections: int) -> httpx.AsyncBaseTransport:
    limits = httpx.Limits(max_connections=max_connections, max_keepalive_connections=20)
    return httpx.AsyncHTTPTransport(limits=limits)


def _own_transport(max_connections: int) -> httpx.AsyncBaseTransport:
    return AttemptTransport(Connections(max_connections=max_connections))


VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        "pipeline": Variant(
            caller=pipeline.caller, rejection=CircuitOpen, transport=_own_transport
        ),
        "stamina_pybreaker": Variant(
            caller=stamina_pybreaker.caller,
            rejection=pybreaker.CircuitBreakerError,
            libraries=("stamina", "pybreaker"),
            transport=_httpx_transport,
        ),
        "tenacity_purgatory": Variant(
            caller=tenacity_purgatory.caller,
            rejection=OpenedState,
            libraries=("tenacity", "purgatory"),
            transport=_httpx_transport,
        ),
        "hyx": Variant(
            caller=hyx.caller,
            rejection=BreakerFailing,
            libraries=("hyx",),
            transport=_httpx_transport,
        ),
        "httpx_retries": Variant(
            caller=httpx_retries.caller, libraries=("httpx-retries",), transport=_httpx_transport
        ),
        "no_policy": Variant(caller=no_policy.caller, transport=_httpx_transport),
    }
)
