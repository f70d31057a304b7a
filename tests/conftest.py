"""Which event loop a test runs on; no property has to hold quickly; signals reach processes."""

import asyncio
import signal
from collections.abc import Callable, Mapping

import hypothesis
import pytest

from resilience.testing import VirtualClockLoop

hypothesis.settings.register_profile("unhurried", deadline=None)  # machines differ
hypothesis.settings.load_profile("unhurried")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs behind
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the processes of tests inherit it


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let one run the long form of a test that is short by default."""
    parser.addoption(
        "--interruptions", type=int, default=3, help="how many runs of the lab to interrupt"
    )


def pytest_asyncio_loop_factories(
    config: pytest.Config,  # noqa: ARG001 - the hook's signature
    item: pytest.Item,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Give tests marked `virtual_clock` a loop of virtual time, all others the usual one."""
    if item.get_closest_marker("virtual_clock"):
        return {"virtual": VirtualClockLoop}
    return {"real": asyncio.new_event_loop}
