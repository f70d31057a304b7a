"""The demo's services as a lab starts them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.service_process import free_port

ROOT = Path(__file__).parents[3]


@contextmanager
def running(name: str, **env: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Run one of the services until the block ends; yield its URL and its process."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    process = subprocess.Popen(
        [*(sys.executable, "-W", "error", "-m", "resilience.demo.service"), name, f"--port={port}"],
        cwd=ROOT,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _await(f"{url}/health")
        yield url, process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _await(url: str) -> None:
    give_up_at = time.monotonic() + 20
    while time.monotonic() < give_up_at:
        try:
            assert httpx.get(url, timeout=1).status_code == 200
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"nobody answers at {url}")


@pytest.mark.integration
def test_each_service_serves_and_ends_when_asked_to() -> None:
    with ExitStack() as stack:
        crypto_url, crypto = stack.enter_context(running("crypto"))
        weather_url, weather = stack.enter_context(running("weather", WEATHER_FALLS_ILL="true"))
        caller_url, caller = stack.enter_context(
            running("caller", CRYPTO_URL=crypto_url, WEATHER_URL=weather_url)
        )
        assert httpx.get(f"{caller_url}/call").json() == {"outcome": "weather_ok"}
        assert httpx.get(f"{caller_url}/stats").json() == {"attempts": 1}
        assert "500 from" in httpx.post(f"{weather_url}/begin").json()["trouble"]
        for process in (crypto, weather, caller):
            process.send_signal(signal.SIGTERM)
        assert [each.wait(timeout=10) for each in (crypto, weather, caller)] == [0, 0, 0]
        assert caller.stdout is not None
        assert caller.stdout.readline().endswith("Weather answers 500 from 1.5 s to 4.5 s\n")


def test_a_switch_that_is_neither_on_nor_off_ends_the_service_at_once() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "resilience.demo.service", "weather", f"--port={free_port()}"],
        cwd=ROOT,
        env={**os.environ, "WEATHER_FALLS_ILL": "yes"},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert ended.returncode == 1
    assert ended.stderr == """WEATHER_FALLS_ILL must be "true" or "false", got 'yes'\n"""
