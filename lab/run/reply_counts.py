"""A service's own count of its replies, held against the load's: whoever sent it, none is lost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from lab.control import NoAnswerError, ask
from lab.running import RunningSystem
from lab.spec.system import Service
from loadgen import Load, Samples
from loadgen.outcomes import ERROR_CLASS

WITHIN_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyCounts:
    """How many replies a service has counted since its start, by outcome class."""

    service: str
    by_class: Mapping[str, int]


async def count_replies(system: RunningSystem, load: Load) -> ReplyCounts | None:
    """Return what the service that *load* goes to has counted so far; None if it does not tell."""
    service = _loaded(system, load)
    if service is None or service.counts is None:
        return None
    url = system.url(service.name) + service.counts.path
    try:
        answer = await ask(system.http, "GET", url, within_s=WITHIN_S)
    except NoAnswerError:
        return None
    counts = {name: answer.field(name) for name in service.counts.classes}
    whole = {name: count for name, count in counts.items() if type(count) is int}
    return ReplyCounts(service=service.name, by_class=whole) if len(whole) == len(counts) else None


def _loaded(system: RunningSystem, load: Load) -> Service | None:
    """Return the one service that all requests go to."""
    for service in system.system.services:
        root = system.url(service.name)
        rests = [request.url.removeprefix(root) for request in load.requests]
        if all(
            rest != request.url and (not rest or rest[0] in "/?")
            for rest, request in zip(rests, load.requests, strict=True)
        ):
            return service
    return None


def disagreement(
    before: ReplyCounts | None, after: ReplyCounts | None, samples: Sequence[Samples]
) -> str:
    """Return in words where a service's counts and the samples of its loads differ; empty: nowhere.

    A service counts a reply that never arrived, or arrived spoilt, as what it was meant to be. So
    its count of a class may exceed the samples by as many as there were such, and no more.

    Args:
        before: when the first load began; None (here or after) if the service did not tell.
        after: at its end; below *before* if the service was started anew.
        samples: of each load.
    """
    if before is None or after is None:
        return ""
    seen, spoilt = _seen(samples)
    for name, count in after.by_class.items():
        counted = count - before.by_class[name]
        if counted < 0:
            return ""
        if not seen[name] <= counted <= seen[name] + spoilt:
            return f"{after.service} counted {counted} {name} replies, the load {seen[name]}"
    return ""


def _seen(loads: Sequence[Samples]) -> tuple[Counter[str], int]:
    """Return how many replies of each class there were, and how many nobody can be sure of."""
    seen, spoilt = Counter[str](), 0
    for ending, count in (each for samples in loads for each in samples.count_endings().items()):
        seen[ending.outcome] += count
        is_clear = ending.status is not None and ending.status >= HTTPStatus.MULTIPLE_CHOICES
        if ending.outcome == ERROR_CLASS and not is_clear:
            spoilt += count
    return seen, spoilt
