from typing import TYPE_CHECKING, cast

import pytest

from lab.errors import NoValidData
from lab.links.place import Place
from lab.links.proxy import ProxyPlace
from lab.links.routes import seen_from, upstream_of
from lab.spec.system import LOAD, Link

if TYPE_CHECKING:
    import httpx

LINK = Link(source="front", target="it")


def place(port: int) -> Place:
    return ProxyPlace(cast("httpx.AsyncClient", None), port=port, control_port=1)


@pytest.mark.parametrize(
    ("url", "through", "upstream"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:7", "127.0.0.1:8080"),
        ("http://api.test/base", "http://127.0.0.1:7/base", "api.test:80"),
        ("redis://:word@db.test:6379/2", "redis://:word@127.0.0.1:7/2", "db.test:6379"),
        ("redis://db.test", "redis://127.0.0.1:7", "db.test:6379"),
        ("tcp://[::1]:5432", "tcp://127.0.0.1:7", "[::1]:5432"),
    ],
)
def test_only_host_and_port_are_those_of_the_place(url: str, through: str, upstream: str) -> None:
    addresses = {"it.url": url, "it.port": "8080", "other.url": "http://127.0.0.1:9"}

    seen = seen_from("front", addresses, {LINK: place(7)})

    assert seen == {"it.url": through, "it.port": "7", "other.url": "http://127.0.0.1:9"}
    assert upstream_of(LINK, addresses) == upstream


def test_nobody_else_is_led_through_the_place_of_a_link() -> None:
    addresses = {"it.url": "http://127.0.0.1:8080", "it.port": "8080"}

    assert seen_from(LOAD, addresses, {LINK: place(7)}) == addresses


@pytest.mark.parametrize("url", ["unix:///run/redis.sock", "rediss://db.test:6380/0"])
def test_what_is_no_plain_tcp_connection_is_refused(url: str) -> None:
    with pytest.raises(NoValidData, match="no proxy can be put on front -> it"):
        upstream_of(LINK, {"it.url": url, "it.port": ""})
