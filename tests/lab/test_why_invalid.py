"""A run whose fault is off says whether a service ended, however late the news of that is."""

import asyncio
from typing import Any, ClassVar

import pytest

from lab.run.checks import Counts, why_invalid
from lab.run.play import FaultsOn, Played
from lab.spec.faults import ProcessFault
from loadgen import Samples

pytestmark = pytest.mark.virtual_clock


class System:
    """Has a service that ended; its keeper tells of it after `news_s` seconds."""

    def __init__(self, news_s: float) -> None:
        self.news_s = news_s

    def dead_services(self) -> list[str]:
        """Return the service once its end is known."""
        return ["rates"] if asyncio.get_running_loop().time() >= self.news_s else []

    injectors: ClassVar[dict[str, object]] = {}


@pytest.mark.parametrize(
    ("news_s", "note"),
    [
        (0.0, "service rates ended by itself"),
        (0.9, "service rates ended by itself"),
        (60.0, "the fault ended before the run did"),
    ],
)
async def test_the_end_of_a_service_is_told_rather_than_that_of_its_fault(
    news_s: float, note: str
) -> None:
    system: Any = System(news_s)
    nothing = Counts(attempts=None, replies=None, proxies={})
    fault = ProcessFault(kind="pause", service="rates")
    on = FaultsOn(
        name="sick", faults=(fault,), since_applied=[None], in_run=[None], are_still_on=False
    )
    played = Played(parts={"": Samples()}, faults=[on])

    why = await why_invalid(played, system, at_faults=nothing, before=nothing, after=nothing)

    assert why == note
