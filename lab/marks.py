"""Marks on replies (`X-Chaos`) that no fault of the lab's can have made."""

from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from fault_proxy.faults.documents import AnyRequestFault
from lab.injector import Injector
from lab.spec.extensions import ExtensionFault
from lab.spec.fault_documents import ChaosFault, LinkFault, wire_kind
from lab.spec.faults import Fault
from loadgen import Samples

# A link's faults of bytes leave no mark.
_OF_REQUESTS = frozenset(map(wire_kind, get_args(AnyRequestFault)))


def strange_mark(
    samples: Samples, faults: Sequence[Fault], injectors: Mapping[str, Injector]
) -> str:
    """Return in words the first mark in *samples* that none of *faults* makes; empty: none."""
    marked = {ending.fault for ending in samples.count_endings() if ending.fault}
    return complaint(marked, faults, injectors) if marked else ""


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
        return {str(fault.document["kind"])} & _OF_REQUESTS
    if not isinstance(fault, ChaosFault):
        return set()
    asked = {name for name, value in fault.document.items() if value}
    marks = asked & {"hang", "failFirst", "failure"}
    marks |= {"delay"} if asked & {"delayMs", "jitterMs"} else set()
    return marks | ({f"body={fault.document['body']}"} if "body" in asked else set())
