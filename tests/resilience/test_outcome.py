import asyncio

import httpx
import pytest

from resilience import AttemptTimeout, CircuitOpen, ResponseTooLarge, StaleConnection
from resilience._internal.outcome import TRANSIENT_ERRORS, is_transient_status


@pytest.mark.parametrize(
    ("status", "transient"),
    [
        pytest.param(200, False, id="PT-094"),
        pytest.param(505, True, id="PT-098"),
        pytest.param(429, True, id="PT-100"),
        (301, False),
        (400, False),
        (404, False),
        (408, True),
        (413, False),
        (499, False),
        (500, True),
        (503, True),
        (599, True),
        pytest.param(999, True, id="above HTTP"),
        pytest.param(99, True, id="below HTTP"),
        pytest.param(0, True, id="no status"),
    ],
)
def test_5xx_408_429_and_what_is_no_status_are_transient(status: int, transient: bool) -> None:
    assert is_transient_status(status) is transient


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        pytest.param(httpx.ConnectError("refused"), True, id="PT-101"),
        pytest.param(AttemptTimeout(1), True, id="PT-102"),
        pytest.param(ValueError("unrelated"), False, id="PT-103"),
        (httpx.ReadError("reset"), True),
        (httpx.RemoteProtocolError("not HTTP"), True),
        (StaleConnection("closed"), True),
        (httpx.UnsupportedProtocol("ftp"), False),
        (httpx.LocalProtocolError("ours"), False),
        (ResponseTooLarge(1), False),
        (CircuitOpen("rates", 1.0, None), False),
        (asyncio.CancelledError(), False),
    ],
)
def test_network_errors_and_attempt_time_outs_are_transient(
    error: BaseException, transient: bool
) -> None:
    assert isinstance(error, TRANSIENT_ERRORS) is transient
