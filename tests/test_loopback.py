"""What is this machine: one table of cases for every part that asks.

`loadgen` (and with it the lab) has the check; `fault_proxy` and `chaos` stand alone and have their
own, which must not disagree.
"""

from collections.abc import Callable

import pytest

from chaos.access import _is_loopback as chaos_admits
from fault_proxy.address import HostPort
from loadgen.hosts import is_loopback


def proxy_admits(host: str) -> bool:
    return HostPort(host, 1).is_loopback


NAMES = {
    "localhost": True,
    "LocalHost": True,
    "localhost.": True,
    "x.localhost": True,
    "x.localhost.": True,
    "localhost.example.com": False,
    "127.0.0.1.nip.io": False,
    "notlocalhost": False,
    "": False,
    ".": False,
}
ADDRESSES = {
    "127.0.0.1": True,
    "127.9.9.9": True,
    "::1": True,
    "::ffff:127.0.0.1": True,
    "::ffff:10.0.0.1": False,
    "10.0.0.1": False,
    "0.0.0.0": False,  # noqa: S104 - it is refused
    "::": False,
    "127.0.0.1.": False,
    "127.1": False,
    "1": False,
}


@pytest.mark.parametrize("check", [is_loopback, proxy_admits])
@pytest.mark.parametrize(("host", "is_here"), (NAMES | ADDRESSES).items())
def test_a_host_is_this_machine_for_all_parts_or_for_none(
    check: Callable[[str], bool], host: str, is_here: bool
) -> None:
    assert check(host) is is_here


@pytest.mark.parametrize(("host", "is_here"), ADDRESSES.items())
def test_a_caller_s_address_is_this_machine_by_the_same_table(host: str, is_here: bool) -> None:
    assert chaos_admits(host) is is_here
