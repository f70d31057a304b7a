"""From a document to its effect on one direction of a connection that it hits."""

import random

from fault_proxy.faults.documents import (
    AnyByteFault,
    Bandwidth,
    BlackHole,
    Corrupt,
    HalfClose,
    Latency,
    Limit,
    Reset,
    Slice,
)
from fault_proxy.faults.effects import (
    Cut,
    Effect,
    Ending,
    Hold,
    Late,
    Noise,
    Pieces,
    TokenBucket,
)


def effect_of(fault: AnyByteFault, now_s: float, chance: random.Random) -> Effect:
    """Return the effect of *fault* on a stream that it hits at *now_s* on the loop's clock."""
    effect: Effect
    match fault:
        case Latency():
            effect = Late(fault.delay_ms / 1000, fault.jitter_ms / 1000, chance)
        case Bandwidth():
            effect = TokenBucket(fault.bytes_per_s, now_s)
        case Slice():
            effect = Pieces(fault.piece_bytes, fault.every_ms / 1000)
        case BlackHole():
            effect = Hold()
        case Reset():
            effect = _reset(fault, now_s)
        case HalfClose():
            effect = Cut(Ending.EOF, after_bytes=fault.after_bytes)
        case Limit():
            effect = Cut(Ending.CLOSE, after_bytes=fault.bytes)
        case Corrupt():
            effect = Noise(fault.share, chance)
    return effect


def _reset(fault: Reset, now_s: float) -> Cut:
    if fault.after_bytes is None and fault.after_ms is None:
        return Cut(Ending.RESET, at_s=now_s)
    at_s = None if fault.after_ms is None else now_s + fault.after_ms / 1000
    return Cut(Ending.RESET, after_bytes=fault.after_bytes, at_s=at_s)
