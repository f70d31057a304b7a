"""Whether a run's figures are those of the lab's own proxies on its links."""

import asyncio
from collections.abc import Iterator, Mapping

from lab.links.place import ProxyState
from lab.links.places import Places
from lab.spec.system import Link

ProxyStates = Mapping[Link, ProxyState | None]  # None: it does not tell, or did not answer
LARGEST_STALLED_SHARE = 0.01  # of a run's time, as for the generator


async def read_proxies(places: Places) -> ProxyStates:
    """Read what each proxy tells of itself, all at the same time."""
    async with asyncio.TaskGroup() as group:
        looks = {link: group.create_task(place.state()) for link, place in places.items()}
    return {link: look.result() for link, look in looks.items()}


def proxy_limits(before: ProxyStates, after: ProxyStates, *, over_s: float) -> str:
    """Return in words why figures are those of a proxy; empty if they are not.

    Args:
        before: what the proxies told when the load began; those that told nothing are not judged.
        after: what they told when it had ended.
        over_s: how long it took.
    """
    return "; ".join(
        f"figures of the proxy on {link} and not of the system: {limit}"
        for link, state in before.items()
        if state is not None
        for limit in _limits(state, after.get(link), over_s)
    )


def _limits(before: ProxyState, after: ProxyState | None, over_s: float) -> Iterator[str]:
    if after is None:
        yield "it does not answer any more"
        return
    stalled_s = after.stalled_s - before.stalled_s
    if stalled_s > 0 and stalled_s >= LARGEST_STALLED_SHARE * over_s:
        yield f"it stood still, {stalled_s:.2f} s in all"
    for why, total in after.own_failures.items():
        if count := total - before.own_failures.get(why, 0):
            yield f"it could not open {count} connection{'s' if count > 1 else ''}: {why}"
