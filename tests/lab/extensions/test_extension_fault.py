"""A fault of a user's own in force: reverted in every ending, blamed for its own failures."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from lab.addresses import addresses_of
from lab.errors import NoValidData
from lab.faults import applied
from lab.keeper import Keeper
from lab.links.places import Site
from lab.results.touches import Touches
from lab.running import RunningSystem
from lab.spec.extensions import ExtensionFault
from lab.spec.system import Service, System
from loadgen.code import load_object

CODE = """\
import asyncio
from contextlib import asynccontextmanager

seen = []

class Own:
    kind = "own"
    def __init__(self, *, fails=""):
        self.fails = fails
    @asynccontextmanager
    async def applied(self, target, chance):
        seen.append(f"on {target.name} {chance.random():.3f}")
        if self.fails == "on":
            raise KeyError("on")
        if self.fails == "slow":
            await asyncio.sleep(3600)
        async def still_on():
            if self.fails == "asked":
                raise OSError("no answer")
            return self.fails != "gone"
        yield None if self.fails == "silent" else still_on
        seen.append("off")
        if self.fails == "off":
            raise RuntimeError("stuck")

class Counting:
    def __init__(self, *, count):
        self.count = count
    @asynccontextmanager
    async def applied(self, target, chance):
        yield self
    async def is_active(self):
        return True
    async def touched(self):
        return self.count
"""


@pytest.fixture
async def system(tmp_path: Path) -> AsyncIterator[RunningSystem]:
    system = System(path=tmp_path, services=(Service(name="rates", run="rates"),))
    async with httpx.AsyncClient(trust_env=False) as http:
        site = Site(
            system=system,
            addresses=addresses_of(system),
            keeper=Keeper(),
            http=http,
            fresh_http=http,
            logs=tmp_path,
        )
        yield RunningSystem(site, places={})


def fault(folder: Path, name: str = "Own", **options: object) -> ExtensionFault:
    path = folder / "own.py"
    path.write_text(CODE)
    return ExtensionFault(kind="own", service="rates", code=f"{path}:{name}", options=options)


def seen_by(fault: ExtensionFault) -> list[str]:
    return list(load_object(fault.code.replace("Own", "seen")))


async def test_it_is_on_within_the_block_and_off_after_it(
    tmp_path: Path, system: RunningSystem
) -> None:
    own = fault(tmp_path)

    async with applied(own, system, random.Random(5)) as on:
        assert seen_by(own) == [f"on rates {random.Random(5).random():.3f}"]
        assert await on.is_active()

    assert seen_by(own)[1:] == ["off"]


@pytest.mark.parametrize("failure", [NoValidData("x"), KeyboardInterrupt, asyncio.CancelledError])
async def test_it_is_reverted_however_the_block_ends_without_a_finally(
    tmp_path: Path, system: RunningSystem, failure: BaseException | type[BaseException]
) -> None:
    own = fault(tmp_path)

    with pytest.raises((NoValidData, KeyboardInterrupt, asyncio.CancelledError)):
        async with applied(own, system, random.Random(5)):
            raise failure

    assert seen_by(own)[1:] == ["off"]


@pytest.mark.parametrize(("kind", "is_on"), [("gone", False), ("silent", True)])
async def test_it_says_whether_it_is_still_on_or_never_goes(
    tmp_path: Path, system: RunningSystem, kind: str, is_on: bool
) -> None:
    async with applied(fault(tmp_path, fails=kind), system, random.Random(5)) as on:
        assert await on.is_active() is is_on
        assert await on.touches() is None


@pytest.mark.parametrize("touched", [0, 3])
async def test_it_may_count_what_it_touches(
    tmp_path: Path, system: RunningSystem, touched: int
) -> None:
    async with applied(fault(tmp_path, "Counting", count=touched), system, random.Random(5)) as on:
        assert await on.is_active()
        assert await on.touches() == Touches(touched=touched)


@pytest.mark.virtual_clock
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("on", "could not be applied: own.py:14: KeyError: 'on'; correct it and run again"),
        ("slow", "could not be applied: it took longer than 10 s; make it quicker"),
        (
            "asked",
            (
                "could not say whether it is on: own.py:19: OSError: no answer; "
                "correct it and run again"
            ),
        ),
        ("off", "could not be reverted: own.py:24: RuntimeError: stuck; correct it and run again"),
    ],
)
async def test_its_own_failure_is_one_line_that_names_the_place(
    tmp_path: Path, system: RunningSystem, kind: str, said: str
) -> None:
    with pytest.raises(NoValidData) as raised:
        async with applied(fault(tmp_path, fails=kind), system, random.Random(5)) as on:
            await on.is_active()

    assert str(raised.value) == f"the fault own of own.py:Own {said}"
