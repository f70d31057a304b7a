import signal
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.service_process import service, start

pytestmark = pytest.mark.integration


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_signal_ends_a_service_with_exit_code_0(by: signal.Signals) -> None:
    with service("rates_api") as rates:
        code, errors = rates.stop(by)

    assert code == 0
    assert "service.stopped" in errors
    assert "Traceback" not in errors


def test_requests_in_flight_hold_up_the_end_for_a_bounded_time() -> None:
    with (
        service("rates_api", CHAOS_ENABLED="true", SHUTDOWN_S="1") as rates,
        socket.create_connection(("127.0.0.1", int(rates.url.rpartition(":")[2]))) as caller,
    ):
        httpx.post(f"{rates.url}/chaos?delayMs=60000")
        caller.sendall(b"GET /rates/USD HTTP/1.1\r\nHost: x\r\n\r\n")
        _await_received(rates.url, 1)
        code, errors = rates.stop()

    assert code == 0
    assert "Traceback" not in errors


def _await_received(url: str, n: int) -> None:
    while httpx.get(f"{url}/stats").json()["received"] < n:
        time.sleep(0.01)


def test_a_taken_port_is_one_line_and_exit_code_2(taken_port: int) -> None:
    process = start("rates_api", "--port", str(taken_port))
    _, errors = process.communicate(timeout=20)

    assert process.returncode == 2
    assert errors == (
        f"rates_api: cannot listen on 127.0.0.1:{taken_port}: Address already in use; "
        "choose another --port or --host\n"
    )


def test_an_address_that_is_not_ours_is_one_line_and_exit_code_2() -> None:
    for host in ("192.0.2.1", "no..name"):
        process = start("rates_api", "--port", "0", "--host", host)
        _, errors = process.communicate(timeout=20)

        assert process.returncode == 2
        assert errors.startswith("rates_api: cannot listen on ")
        assert errors.count("\n") == 1


def test_a_wrong_setting_is_one_line_and_exit_code_2() -> None:
    process = start("rates_api", "--port", "http")
    _, errors = process.communicate(timeout=20)

    assert process.returncode == 2
    assert errors.startswith("rates_api: PORT='http': ")
    assert errors.count("\n") == 1
