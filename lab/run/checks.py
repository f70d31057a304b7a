"""Whether a run counts: all that can make its figures those of something else.

Before a cell: the system is well, and each injector is the only one of its service. Around a run:
nobody else has put a fault on. After it: no service has ended, the cell's own faults were on until
the end and touched something, neither the generator nor a proxy was the limit, and the service
counted the same replies. After a cell: no fault is left on.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from fault_proxy.faults.documents import AnyRequestFault
from lab.control import NoAnswerError, ask
from lab.errors import NoValidData
from lab.injector import Injector
from lab.results.touches import untouched
from lab.run.proxy_states import ProxyStates, proxy_limits, read_proxies
from lab.run.reply_counts import ReplyCounts, count_replies, disagreement
from lab.running import RunningSystem
from lab.spec.extensions import ExtensionFault
from lab.spec.fault_documents import ChaosFault, LinkFault, wire_kind
from lab.spec.faults import Fault
from loadgen import Load, Sample, Samples

if TYPE_CHECKING:
    from lab.run.play import FaultsOn, Played

COUNTER_TIMEOUT_S = 2.0
_NEWS_OF_AN_END_S = 1.0  # a service's port falls silent before its keeper tells of its end
_LOOKS = 50
# A link's faults of bytes leave no mark.
_MARKING_LINK_FAULTS = frozenset(map(wire_kind, get_args(AnyRequestFault)))


async def check_single(system: RunningSystem, faults: Iterable[Fault]) -> None:
    """Make sure that each of *faults* will reach the whole of its service.

    Raises:
        NoValidData: a service has several injectors, each with faults of its own.
    """
    for name in {fault.service for fault in faults if isinstance(fault, ChaosFault)}:
        await system.injectors[name].check_single()


def check_steady_state(samples: Samples, *, before: str, logs: Path, proxies: str = "") -> None:
    """Make sure that the healthy system made no error.

    Args:
        samples: of a short load on it.
        before: what was to come.
        logs: where the services say more.
        proxies: why it is a proxy that failed; empty: none did.

    Raises:
        NoValidData: it did, or the generator could not send.
    """
    if samples.report is not None and samples.report.unsent:
        raise NoValidData(f"the generator failed before {before}: {samples.report.limits[0]}")
    failures = [error for error in samples.error if error]
    if failures and proxies:
        raise NoValidData(f"no steady state before {before}: {proxies}")
    if failures:
        raise NoValidData(
            f"steady state does not hold before {before}: {len(failures)} of {len(samples)} "
            f"requests to the healthy system failed, the first with {failures[0]!r}; see {logs}"
        )


async def check_clean(system: RunningSystem, faults: Iterable[Fault], *, after: str) -> None:
    """Make sure that none of *faults* is left on once all have been reverted.

    Raises:
        NoValidData: one is.
    """
    every = tuple(faults)
    for name in {fault.service for fault in every if isinstance(fault, ChaosFault)}:
        if not await system.injectors[name].is_off():
            raise NoValidData(f"after {after} the fault of {name} could not be cleared")
    for link in {fault.link for fault in every if isinstance(fault, LinkFault)}:
        if not await system.place(link).is_clear():
            raise NoValidData(f"after {after} the fault on {link} could not be cleared")


async def foreign_faults(system: RunningSystem) -> str:
    """Return in words which faults somebody else has put on since the last look; empty: none.

    All injectors and proxies are asked at the same time. One that cannot answer, because its
    service is paused or stopped, has nothing to tell.

    Raises:
        NoValidData: a fault of the lab's own is at one process of several.
    """
    try:
        async with asyncio.TaskGroup() as group:
            looks = [
                *(
                    group.create_task(injector.foreign_faults())
                    for name, injector in system.injectors.items()
                    if system.can_be_asked(name)
                ),
                *(
                    group.create_task(place.foreign_faults(str(link)))
                    for link, place in system.places.items()
                ),
            ]
    except* NoValidData as failures:
        raise NoValidData(str(failures.exceptions[0])) from failures
    return "; ".join(found for look in looks if (found := look.result()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the counters of a system and of its proxies say; None where they say nothing."""

    attempts: int | None  # calls that the system has sent to its sick service
    replies: ReplyCounts | None
    proxies: ProxyStates

    def attempts_since(self, before: "Counts | None") -> int | None:
        """Return how far the attempts went on; None if unknown, or set back meanwhile."""
        if before is None or before.attempts is None or self.attempts is None:
            return None
        return self.attempts - before.attempts if self.attempts >= before.attempts else None


async def read_counts(system: RunningSystem, load: Load) -> Counts:
    """Read the counters of a system under *load*."""
    return Counts(
        attempts=await _attempts(system),
        replies=await count_replies(system, load),
        proxies=await read_proxies(system.places),
    )


async def _attempts(system: RunningSystem) -> int | None:
    """Return how many calls the system has sent to its sick service; None if nobody counts them."""
    for service in system.system.services:
        if (counter := service.attempts) is not None:
            url = system.url(service.name) + counter.path
            try:
                answer = await ask(system.http, "GET", url, within_s=COUNTER_TIMEOUT_S)
            except NoAnswerError:
                return None
            count = answer.field(counter.json_field)
            return count if type(count) is int else None
    return None


async def why_invalid(
    played: "Played", system: RunningSystem, *, at_faults: Counts, before: Counts, after: Counts
) -> str:
    """Return why a run does not count; empty if it does.

    Args:
        played: the run.
        system: that it ran on.
        at_faults: its counters when the first of the faults came.
        before: when the run began.
        after: when it had ended.
    """
    samples = list(played.parts.values())
    return (
        _service_that_ended(system)
        or _others(played)
        or strange_mark(played, system.injectors)
        or await _why_a_fault_is_off(played, system)
        or await _why_unreached(played, system, after.attempts_since(at_faults))
        or _untouched(played)
        or disagreement(before.replies, after.replies, samples)
        # What a repetition may mend stands last.
        or "; ".join(dict.fromkeys(limit for each in samples for limit in _limits(each)))
        or proxy_limits(before.proxies, after.proxies, over_s=_span_s(samples))
        or _why_the_lab_was_late(played)
    )


def _service_that_ended(system: RunningSystem) -> str:
    dead = system.dead_services()
    return f"service {dead[0]} ended by itself" if dead else ""


def _others(played: "Played") -> str:
    """Return what others did, with the moment if the run is a timeline."""
    if not played.spans:
        return "; ".join(played.foreign)
    return "; ".join(f"{what}, seen at {at_s:.1f} s" for what, at_s in played.foreign.items())


def strange_mark(played: "Played", injectors: Mapping[str, Injector]) -> str:
    """Return marks on replies (`X-Chaos`) that none of the lab's own faults makes.

    A fault marks replies while it is on, and those that were under way when it came or went.
    """
    samples = played.parts.values()
    marks = {ending.fault for part in samples for ending in part.count_endings() if ending.fault}
    if not marks or not played.spans:
        return complaint(marks, [fault for on in played.faults for fault in on.faults], injectors)
    for sample in (each for part in samples for each in part if each.fault):
        faults = [f for on in played.faults if _was_on(on, sample) for f in on.faults]
        if strange := complaint([sample.fault], faults, injectors):
            return f"{strange}, first at {sample.finished_s:.1f} s"
    return ""


def _was_on(faults: "FaultsOn", sample: Sample) -> bool:
    """Tell whether faults may have been on while a request was under way."""
    span = faults.span
    return span is None or (span.asked_s <= sample.finished_s and sample.scheduled_s <= span.off_s)


def complaint(
    marked: Iterable[str], faults: Sequence[Fault], injectors: Mapping[str, Injector]
) -> str:
    """Return in words which of the marks, as replies had them, none of *faults* makes.

    A fault of a user's own, or of an injector of another make, may write what it likes.
    """
    if not all(_is_known(each, injectors) for each in faults):
        return ""
    own = {mark for fault in faults for mark in _marks_of(fault)}
    strange = sorted({mark for each in marked for mark in each.split(", ")} - own)
    if not strange:
        return ""
    return f"replies bear the mark of somebody else's fault ({', '.join(strange)})"


def _is_known(fault: Fault, injectors: Mapping[str, Injector]) -> bool:
    if isinstance(fault, ChaosFault):
        return injectors[fault.service].names_its_marks
    return not isinstance(fault, ExtensionFault)


def _marks_of(fault: Fault) -> set[str]:
    """Return the marks that a fault may make."""
    if isinstance(fault, LinkFault):
        return {str(fault.document["kind"])} & _MARKING_LINK_FAULTS
    if not isinstance(fault, ChaosFault):
        return set()
    asked = {name for name, value in fault.document.items() if value}
    marks = asked & {"hang", "failFirst", "failure"}
    marks |= {"delay"} if asked & {"delayMs", "jitterMs"} else set()
    return marks | ({f"body={fault.document['body']}"} if "body" in asked else set())


async def _why_a_fault_is_off(played: "Played", system: RunningSystem) -> str:
    """Return why faults were off too early; of a service's end we hear later than of its port."""
    off = next((each for each in played.faults if not each.are_still_on), None)
    if off is None:
        return ""
    for _ in range(_LOOKS):
        if end := _service_that_ended(system):
            return end
        await asyncio.sleep(_NEWS_OF_AN_END_S / _LOOKS)
    if off.span is None:
        return "the fault ended before the run did"
    return f"the faults of {off.name!r} were gone before its end"


def _limits(samples: Samples) -> list[str]:
    """Return why the figures are the generator's own."""
    limits = samples.report.limits if samples.report else ()
    return [f"figures of the generator and not of the system: {limit}" for limit in limits]


def _why_the_lab_was_late(played: "Played") -> str:
    """Return that faults and looks were late, because the lab itself stood still."""
    if not played.stalls_s:
        return ""
    late_s = sum(played.stalls_s)
    return f"the lab itself stood still for {late_s:.1f} s: its faults and looks were late"


def _span_s(samples: Sequence[Samples]) -> float:
    """Return when, by the run's clock, its last request ended."""
    return max((each for part in samples for each in part.finished_s), default=0.0)


async def _why_unreached(played: "Played", system: RunningSystem, attempts: int | None) -> str:
    """Return which link was not used, or that the sick service was not called at all."""
    faults = [fault for each in played.faults for fault in each.faults]
    links = {fault.link for fault in faults if isinstance(fault, LinkFault)}
    for link in sorted(links):
        if await system.place(link).connections() == 0:
            return f"no connection has crossed {link}"
    if any(system.system.service(link.target).attempts for link in links):
        return ""  # it counts behind the link, which may be cut
    return "no call has reached the sick service" if faults and attempts == 0 else ""


def _untouched(played: "Played") -> str:
    for each in played.faults:
        if nothing := untouched(each.faults, each.since_applied):
            return nothing if each.span is None else f"{each.name!r}: {nothing}"
    return ""
