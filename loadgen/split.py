"""One load shared out among several processes: pure, and exact."""

from dataclasses import replace
from typing import TYPE_CHECKING

from loadgen.load import Load, Open, Request

if TYPE_CHECKING:
    from collections.abc import Sequence


def split_load(load: Load, parts: int) -> list[Load]:
    """Return loads that together send what *load* sends: each ticket, task and due request once.

    A closed load's tickets, tasks and warm-up are shared out evenly, the first parts having one
    more where they do not divide. Of an open load's due moments each part takes every n-th, so that
    together they keep its schedule, even, ramped or drawn; so it does of a request's bodies.

    Args:
        load: any.
        parts: >= 1.

    Returns:
        As many loads as asked for, or fewer: not more than there are tasks, tickets or connections.

    Raises:
        ValueError: parts is below 1.
    """
    if parts < 1:
        raise ValueError(f"processes must be at least 1, got {parts}")
    shape = load.shape
    if isinstance(shape, Open):
        connections = shares(shape.max_connections, min(parts, shape.max_connections))
        return [
            replace(
                load,
                requests=_with_own_bodies(load.requests, part, len(connections)),
                shape=replace(shape, max_connections=own, part=part, parts=len(connections)),
            )
            for part, own in enumerate(connections)
        ]
    parts = min(parts, shape.tasks, shape.requests or shape.tasks)
    tasks, warmups = shares(shape.tasks, parts), shares(load.warmup_requests, parts)
    tickets: Sequence[int | None] = [None] * parts
    if shape.requests is not None:
        tickets = shares(shape.requests, parts)
    return [
        replace(
            load,
            requests=_with_own_bodies(load.requests, part, parts),
            shape=replace(shape, tasks=tasks[part], requests=tickets[part]),
            warmup_requests=warmups[part],
        )
        for part in range(parts)
    ]


def _with_own_bodies(requests: tuple[Request, ...], part: int, parts: int) -> tuple[Request, ...]:
    """Return requests with every n-th of their bodies, or all of them where there are fewer."""
    return tuple(replace(each, bodies=each.bodies[part::parts] or each.bodies) for each in requests)


def shares(total: int, parts: int) -> list[int]:
    """Return *parts* numbers that add up to *total* and differ by at most 1, the larger first."""
    least, more = divmod(total, parts)
    return [least + (place < more) for place in range(parts)]
