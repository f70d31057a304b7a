"""The faults of a link in the terms of Toxiproxy, where it has them.

    latency    -> latency       bandwidth -> bandwidth      slice   -> slicer
    blackHole  -> timeout of 0  reset     -> reset_peer     limit   -> limit_data
    refuse     -> the proxy disabled

Source: the README of Toxiproxy 2, "Toxics".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

_BYTES_PER_KB = 1000  # its bandwidth goes by bytes a millisecond
_US_PER_MS = 1000
_USUAL_PAUSE_MS = 10.0  # of `fault_proxy`
_NOT_ITS_OWN = {"afterBytes": "a reset after a number of bytes", "seed": "a seed"}


class UnsupportedError(ValueError):
    """Toxiproxy has no such fault; the message says what it lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toxic:
    """One toxic on one stream of a proxy, as its API takes it."""

    type: str
    stream: str  # upstream or downstream
    toxicity: float  # share of connections
    attributes: Mapping[str, int]

    def as_wire(self, name: str) -> dict[str, object]:
        """Return the JSON document that makes it."""
        return {
            "name": name,
            "type": self.type,
            "stream": self.stream,
            "toxicity": self.toxicity,
            "attributes": dict(self.attributes),
        }


def toxics_of(document: Mapping[str, object]) -> tuple[Toxic, ...] | None:
    """Return the toxics that do what a fault's document says; None for the proxy disabled.

    Raises:
        UnsupportedError: Toxiproxy cannot do that.
    """
    for key, what in _NOT_ITS_OWN.items():
        if key in document:
            raise UnsupportedError(f"it has not {what}")
    if document["kind"] == "refuse":
        return None
    direction = str(document.get("direction", "both"))
    streams = ("upstream", "downstream") if direction == "both" else (direction,)
    toxicity = cast("float", document.get("probability", 1.0))
    if len(streams) > 1 and 0 < toxicity < 1:
        raise UnsupportedError("it rolls its dice for each direction by itself; name a direction")
    kind, attributes = _toxic(document)
    return tuple(
        Toxic(type=kind, stream=stream, toxicity=toxicity, attributes=attributes)
        for stream in streams
    )


def _toxic(document: Mapping[str, object]) -> tuple[str, dict[str, int]]:
    figures = cast("Mapping[str, int]", document)
    match document["kind"]:
        case "latency":
            return "latency", {
                "latency": figures["delayMs"],
                "jitter": figures.get("jitterMs", 0),
            }
        case "bandwidth":
            rate, rest = divmod(figures["bytesPerS"], _BYTES_PER_KB)
            if rest:
                raise UnsupportedError("its bandwidth is in whole kB a second, of 1000 bytes")
            return "bandwidth", {"rate": rate}
        case "slice":
            pause_ms = figures.get("everyMs", _USUAL_PAUSE_MS)
            return "slicer", {
                "average_size": figures["pieceBytes"],
                "size_variation": 0,
                "delay": int(pause_ms * _US_PER_MS),
            }
        case "blackHole":
            return "timeout", {"timeout": 0}
        case "reset":
            return "reset_peer", {"timeout": figures.get("afterMs", 0)}
        case "limit":
            return "limit_data", {"bytes": figures["bytes"]}
        case kind:
            raise UnsupportedError(f"it has no fault such as {kind}")
