"""Everything that can be done to a service, as an experiment file says it: immutable values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from lab.system import Link


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosFault:
    """A document for the service's own fault injector, in the wire's names and units."""

    kind: Literal["chaos"] = "chaos"
    service: str
    document: Mapping[str, object]

    @property
    def has_effect(self) -> bool:
        """Whether any request can be touched at all."""
        return any(self.document.get(name) for name in _HARMFUL)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFault:
    """A document for the proxy on a link, in the wire's names and units."""

    kind: Literal["link"] = "link"
    link: Link
    document: Mapping[str, object]

    @property
    def service(self) -> str:
        """Where it is, for people: `front -> rates`."""
        return str(self.link)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessFault:
    """What is done to the service's process.

    `pause`: SIGSTOP, its port accepts and says nothing. `stop`: SIGTERM, connections are refused.
    `kill`: SIGKILL, the same without a goodbye. Reverting resumes or starts it again.
    """

    kind: Literal["pause", "stop", "kill"]
    service: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartFault:
    """The service is ended and started again once, and has forgotten what it did not store."""

    kind: Literal["restart"] = "restart"
    service: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlapFault:
    """The service is stopped and started again, over and over."""

    kind: Literal["flap"] = "flap"
    service: str
    down_s: float = 1.0  # > 0; from its end to its next start
    up_s: float = 1.0  # > 0; from the moment it is ready


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnFault:
    """Processes beside the service compute without end, each as much as one core can."""

    kind: Literal["burn"] = "burn"
    service: str
    cores: int | None = None  # >= 1; None: as many as the lab and its services may use


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFault:
    """A process beside the service holds memory and keeps touching it."""

    kind: Literal["memory"] = "memory"
    service: str
    mib: int  # >= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesFault:
    """The service's processes may open few or no further file descriptors, sockets included."""

    kind: Literal["files"] = "files"
    service: str
    spare: int = 0  # >= 0; how many more than it has open when the fault begins


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushFault:
    """A backing Redis forgets all that it holds, once."""

    kind: Literal["flush"] = "flush"
    service: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionFault:
    """A fault of a user's own: a class by its reference, and its keyword arguments."""

    kind: str
    service: str
    code: str  # `path/to/file.py:Name` or `package.module:Name`
    options: Mapping[str, object]


Fault = (
    ChaosFault
    | LinkFault
    | ExtensionFault
    | ProcessFault
    | RestartFault
    | FlapFault
    | BurnFault
    | MemoryFault
    | FilesFault
    | FlushFault
)
LEASED = (ChaosFault, LinkFault)  # end by themselves, should the lab die
MOMENTARY = (RestartFault, FlushFault)  # done once it has been applied; nothing to revert
_HARMFUL = ("failure", "delayMs", "jitterMs", "failFirst", "body", "hang")  # others say how
_BESIDE = (BurnFault, MemoryFault, FlushFault)  # leaves the process itself alone
_INSIDE = (ChaosFault, FilesFault)  # needs the process to be there


def go_together(one: Fault, other: Fault) -> bool:
    """Tell whether two faults can be on at once, each having its effect until it is reverted."""
    if one.service != other.service or isinstance(one, LinkFault):
        return True
    if one.kind == other.kind:
        return False
    if isinstance(one, _BESIDE) or isinstance(other, _BESIDE):
        return True
    return isinstance(one, _INSIDE) and isinstance(other, _INSIDE)


def label(fault: Fault) -> str:
    """Return what a fault is and where, for people: `chaos at rates, match path /x`."""
    match fault:
        case ChaosFault():
            what = f"chaos at {fault.service}"
        case LinkFault():
            what = f"{fault.document['kind']} on {fault.link}"
        case _:
            return f"{fault.kind} at {fault.service}"
    match = fault.document.get("match")
    words = [f"{key} {value}" for key, value in match.items()] if isinstance(match, Mapping) else []
    return f"{what}, match {' '.join(words)}" if words else what


def asked_share(fault: Fault) -> float | None:
    """Return the share of requests or connections to be hit; None for all, or an unknown one."""
    if not isinstance(fault, ChaosFault | LinkFault):
        return None
    share = fault.document.get("failure" if isinstance(fault, ChaosFault) else "rate")
    return float(share) if isinstance(share, int | float) and share < 1 else None
