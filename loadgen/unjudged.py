"""Replies that have come and are still to be judged and recorded."""

from collections.abc import Iterable

from loadgen.classify import BodyJudge
from loadgen.samples import Row

# Many in a row find the processor's caches warm, as each between two system calls does not; too
# many in a row would keep the requests under way waiting.
MOST_UNJUDGED = 64

Unjudged = tuple[float, float, float, float, int, BodyJudge, bytes]
"""When a request was due, sent, answered by a first byte and finished, of `time.perf_counter`; its
place in the load's requests; what judges the body of its reply; that body."""


def judged(replies: Iterable[Unjudged], began: float) -> list[Row]:
    """Return the rows of those replies whose requests fell due at *began* or later."""
    return [
        (
            scheduled - began,
            sent - scheduled,
            first_byte - scheduled,
            finished - scheduled,
            judge(body),
            number,
        )
        for scheduled, sent, first_byte, finished, number, judge, body in replies
        if scheduled >= began
    ]
