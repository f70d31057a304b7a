"""A run whose fault is off says whether a service ended, however late the news of that is."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from lab.runner import Runner

pytestmark = pytest.mark.virtual_clock


class System:
    """Has a service that ended; its keeper tells of it after `news_s` seconds."""

    def __init__(self, news_s: float) -> None:
        self.news_s = news_s

    def dead_services(self) -> list[str]:
        """Return the service once its end is known."""
        return ["rates"] if asyncio.get_running_loop().time() >= self.news_s else []


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
    unused: Any = None
    system: Any = System(news_s)
    experiment: Any = SimpleNamespace(conditions=())
    runner = Runner(
        experiment, system=system, engine=unused, folder=unused, progress=unused, seed=1
    )
    assert await runner._why_it_ended() == note
