"""Links made sick by a Toxiproxy server, as far as its API tells."""

import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from lab.errors import NoValidData
from lab.faults import applied
from lab.keeper import Keeper
from lab.links.places import Site, placed_on
from lab.running import RunningSystem
from lab.spec.fault_documents import LinkFault
from lab.spec.system import LOAD, Link, Service, System
from tests.lab.links.toxiproxy_stand_in import StandIn, toxiproxy
from tests.lab.small_experiment import SYSTEM
from tests.lab.up.running_lab import lab_up, runtime_folder, until

pytestmark = pytest.mark.integration

LINK = Link(source=LOAD, target="rates")
ADDRESSES = {"rates.url": "http://127.0.0.1:8080", "rates.port": "8080"}
GONE_WITHIN_S = 6.0


@pytest.fixture
def server() -> Iterator[StandIn]:
    with toxiproxy() as stand_in:
        yield stand_in


@asynccontextmanager
async def led_through(url: str, tmp_path: Path) -> AsyncIterator[RunningSystem]:
    """Yield a system, none of which runs, with a place in the server on its one link."""
    rates = Service(name="rates", url="http://127.0.0.1:8080")
    system = System(path=tmp_path / "system.yaml", services=(rates,), toxiproxy=url)
    async with httpx.AsyncClient(trust_env=False) as http:
        site = Site(
            system=system,
            addresses=ADDRESSES,
            keeper=Keeper(),
            http=http,
            fresh_http=http,
            logs=tmp_path,
        )
        async with placed_on([LINK], site) as places:
            yield RunningSystem(site, places)


def fault(**document: object) -> LinkFault:
    return LinkFault(link=LINK, document=document)


async def test_faults_come_together_and_go_and_so_does_the_proxy(
    server: StandIn, tmp_path: Path
) -> None:
    async with led_through(server.url, tmp_path) as system:
        [(name, proxy)] = server.proxies.items()
        assert (proxy["upstream"], proxy["enabled"]) == ("127.0.0.1:8080", True)
        assert system.expand("{rates.url}") == f"http://{proxy['listen']}"

        slow = fault(kind="latency", delayMs=200, direction="downstream", probability=0.5)
        chance = random.Random(1)
        async with applied(slow, system, chance) as slowing:
            assert [toxic["type"] for toxic in proxy["toxics"]] == ["latency"]
            async with applied(fault(kind="blackHole"), system, chance) as holding:
                assert len(proxy["toxics"]) == 3
                assert await holding.is_active()
            assert len(proxy["toxics"]) == 1
            assert await slowing.is_active()
            assert not await system.place(LINK).is_clear()
            proxy["toxics"].clear()  # by somebody else
            assert not await slowing.is_active()
        assert await system.place(LINK).is_clear()
    assert server.proxies == {}
    assert f"DELETE /proxies/{name}" in server.asked


async def test_what_others_do_to_the_proxy_is_told_apart_from_the_labs_own(
    server: StandIn, tmp_path: Path
) -> None:
    async with led_through(server.url, tmp_path) as system:
        [proxy] = server.proxies.values()
        place = system.place(LINK)
        slow = await place.put_on({"kind": "latency", "delayMs": 9})
        away = await place.put_on({"kind": "refuse"})
        assert await place.foreign_faults("here") == ""
        assert await place.touches(slow) is None
        await place.take_off(slow)
        await place.take_off(away)
        assert await place.foreign_faults("here") == ""

        proxy["toxics"].append({"name": "theirs", "type": "timeout"})
        assert await place.foreign_faults("here") == "somebody else's fault is on here (theirs)"
        proxy["toxics"].clear()
        proxy["enabled"] = False
        said = "somebody else's fault is on here (the proxy is disabled)"
        assert await place.foreign_faults("here") == said


async def test_connects_are_refused_until_the_last_fault_that_asks_for_it_ends(
    server: StandIn, tmp_path: Path
) -> None:
    async with led_through(server.url, tmp_path) as system:
        [proxy] = server.proxies.values()
        place = system.place(LINK)
        first, second = [await place.put_on({"kind": "refuse"}) for _ in range(2)]
        assert not proxy["enabled"]
        assert await place.is_on(first)
        await place.take_off(first)
        assert not proxy["enabled"]
        await place.take_off(second)
        assert proxy["enabled"]
        assert await place.is_clear()


async def test_a_server_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(NoValidData, match=r"does not answer .* remove toxiproxy from the system"):
        async with led_through("http://127.0.0.1:1", tmp_path):
            pass


def test_a_lab_that_is_killed_leaves_no_fault_in_the_server(
    server: StandIn, tmp_path: Path
) -> None:
    system = SYSTEM + f"toxiproxy: {server.url}\n"
    with (
        runtime_folder() as runtime,
        lab_up(tmp_path, runtime, system, links=[str(LINK)]) as lab,
    ):
        document = {"link": str(LINK), "black_hole": "true"}
        assert lab.ask("POST", "/faults", json=document).status_code == 201
        assert [len(proxy["toxics"]) for proxy in server.proxies.values()] == [2]
        lab.process.process.kill()

        assert until(lambda: not server.proxies, within_s=GONE_WITHIN_S)
        lab.process.finish()
        assert lab.process.survivors_after(GONE_WITHIN_S) == []
