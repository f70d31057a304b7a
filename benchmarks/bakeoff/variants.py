"""Every way of making the call, by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from types import MappingProxyType

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way of making the call.

    Attributes:
        caller: Makes it.
        rejection: What it raises instead of calling while its circuit is open; None without one.
        libraries: The distributions that it is made of, beside httpx.
    """

    caller: Caller
    rejection: type[Exception] | None = None
    libraries: tuple[str, ...] = ()

    @property
    def versions(self) -> str:
        """Name the libraries with their versions; empty if there are none."""
        return ", ".join(f"{each} {version(each)}" for each in self.libraries)


VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        "pipeline": Variant(caller=pipeline.caller, rejection=CircuitOpen),
        "stamina_pybreaker": Variant(
            caller=stamina_pybreaker.caller,
            rejection=pybreaker.CircuitBreakerError,
            libraries=("stamina", "pybreaker"),
        ),
        "tenacity_purgatory": Variant(
            caller=tenacity_purgatory.caller,
            rejection=OpenedState,
            libraries=("tenacity", "purgatory"),
        ),
        "hyx": Variant(
            caller=hyx.caller,
            rejection=BreakerFailing,
            libraries=("hyx",),
        ),
        "httpx_retries": Variant(caller=httpx_retries.caller, libraries=("httpx-retries",)),
        "no_policy": Variant(caller=no_policy.caller),
    }
)
