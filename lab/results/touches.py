"""What faults touched: counts by each fault, in a run and as columns of its row."""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.spec.extensions import ExtensionFault
from lab.spec.fault_documents import ChaosFault, LinkFault
from lab.spec.faults import Fault, asked_share, label
from lab.spec.outcome import TOUCH_FIGURES

COUNTING = (ChaosFault, LinkFault, ExtensionFault)  # those that may tell what they touched


@dataclass(frozen=True, slots=True, kw_only=True)
class Touches:
    """What a fault has done since it was applied, in requests or, for bytes, in connections.

    Where it rolls dice, `hit` of the `met` were hit. The standing ones are open connections, which
    go on to be under the fault.
    """

    touched: int
    hit: int = 0
    met: int = 0
    standing_touched: int = 0
    standing_met: int = 0

    @property
    def share_hit(self) -> float | None:
        """The share that the dice came to; None if nothing came by."""
        return self.hit / self.met if self.met else None

    def since(self, before: "Touches | None") -> "Touches | None":
        """Return what was done from *before* on; None if that is unknown, or was counted anew."""
        if before is None or before.touched > self.touched or before.met > self.met:
            return None
        return Touches(
            touched=self.touched - before.touched + before.standing_touched,
            hit=self.hit - before.hit + before.standing_touched,
            met=self.met - before.met + before.standing_met,
        )


def since(before: Sequence[Touches | None], now: Sequence[Touches | None]) -> list[Touches | None]:
    """Return what each of several faults has done from *before* on; None where that is unknown."""
    return [
        None if later is None else later.since(earlier)
        for earlier, later in zip(before, now, strict=True)
    ]


def touch_columns(faults: int) -> tuple[str, ...]:
    """Return the columns of as many faults at once: `touched`, ..., `touched_2`, ..."""
    return tuple(column(figure, number) for number in range(faults) for figure in TOUCH_FIGURES)


def column(figure: str, number: int) -> str:
    """Return the column of a figure of the fault with that number, from 0."""
    return figure + _ending(number)


def _ending(number: int) -> str:
    return f"_{number + 1}" if number else ""


def touch_values(faults: Sequence[Fault], touches: Sequence[Touches | None]) -> dict[str, float]:
    """Return what each of *faults* that may count did, by column; without what is not known.

    Args:
        faults: that were on together.
        touches: theirs, in the same order.
    """
    counting = [pair for pair in zip(faults, touches, strict=True) if isinstance(pair[0], COUNTING)]
    values: dict[str, float | None] = {}
    for number, (fault, did) in enumerate(counting):
        asked = asked_share(fault)
        values |= {
            column("touched", number): None if did is None else did.touched,
            column("share_hit", number): None if did is None or asked is None else did.share_hit,
            column("share_asked", number): asked,
        }
    return {name: value for name, value in values.items() if value is not None}


def untouched(faults: Sequence[Fault], touches: Sequence[Touches | None]) -> str:
    """Return in words which of *faults* touched nothing since they were applied; empty: none."""
    names = [
        label(each)
        for each, did in zip(faults, touches, strict=True)
        if did is not None and did.touched <= 0
    ]
    if not names:
        return ""
    return f"the fault touched nothing ({'; '.join(names)})"
