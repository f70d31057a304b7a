"""What faults touched: counts by each fault, in a run and as columns of its row."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lab.spec.extensions import ExtensionFault
from lab.spec.fault_documents import ChaosFault, LinkFault
from lab.spec.faults import Fault, asked_share, label
from lab.spec.outcome import TOUCH_FIGURES


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


def may_count(faults: Sequence[Fault]) -> list[Fault]:
    """Return those of *faults* that may tell what they touched."""
    return [each for each in faults if isinstance(each, ChaosFault | LinkFault | ExtensionFault)]


def touch_columns(faults: int) -> tuple[str, ...]:
    """Return the columns of as many faults at once: `touched`, ..., `touched_2`, ..."""
    endings = (_ending(number) for number in range(max(1, faults)))
    return tuple(f"{figure}{ending}" for ending in endings for figure in TOUCH_FIGURES)


def columns_for(groups: Iterable[Sequence[Fault]]) -> tuple[str, ...]:
    """Return the columns that do for each group of faults that are on together."""
    return touch_columns(max((len(may_count(each)) for each in groups), default=0))


def column(figure: str, number: int) -> str:
    """Return the column of a figure of the fault with that number, from 0."""
    return figure + _ending(number)


def _ending(number: int) -> str:
    return f"_{number + 1}" if number else ""


def touch_values(
    faults: Sequence[Fault], touches: Sequence[Touches | None]
) -> dict[str, float | None]:
    """Return what each of *faults* that may count did, by column; None: not available.

    Args:
        faults: that were on together.
        touches: theirs, in the same order.
    """
    counted = [
        (asked_share(each), did)
        for each, did in zip(faults, touches, strict=True)
        if may_count([each])
    ]
    values: list[float | None] = []
    for asked, did in counted:
        share = None if did is None or asked is None else did.share_hit
        values += [None if did is None else did.touched, share, asked]
    return dict(zip(touch_columns(len(counted)), values, strict=False))


def untouched(faults: Sequence[Fault], touches: Sequence[Touches | None]) -> str:
    """Return in words which of *faults* touched nothing since they were applied; empty: none."""
    names = [
        label(each)
        for each, did in zip(faults, touches, strict=True)
        if did is not None and not did.touched
    ]
    if not names:
        return ""
    return f"the fault touched nothing ({'; '.join(names)})"
