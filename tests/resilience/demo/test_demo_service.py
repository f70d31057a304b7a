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

from lab.files.experiments import read_experiment
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
def test_the_caller_tells_ok_from_failed_from_rejected_and_counts_attempts() -> None:
    with ExitStack() as stack:
        crypto_url, _ = stack.enter_context(running("crypto"))
        weather_url, weather = stack.enter_context(running("weather"))
        caller_url, caller = stack.enter_context(
            running("caller", CRYPTO_URL=crypto_url, WEATHER_URL=weather_url)
        )

        def outcome(source: str) -> str:
            reply = httpx.get(f"{caller_url}/call", params={"source": source}, timeout=10)
            return str(reply.json()["outcome"])

        assert [outcome("crypto"), outcome("weather")] == ["ok", "ok"]
        weather.kill()
        weather.wait()
        assert [outcome("weather") for _ in range(3)] == ["failed", "rejected", "rejected"]
        assert outcome("crypto") == "ok"
        assert httpx.get(f"{caller_url}/call?source=sun").status_code == 404
        attempts = httpx.get(f"{caller_url}/stats").json()["attempts"]
        assert attempts >= 8  # one each that did well, five that opened the circuit, one more
        caller.send_signal(signal.SIGTERM)
        assert caller.wait(timeout=10) == 0


def test_the_experiment_with_two_sources_is_valid() -> None:
    experiment = read_experiment(ROOT / "experiments" / "two_sources.yaml")
    assert [service.name for service in experiment.system.services][-1] == "caller"
    assert experiment.outcome.classes == ("ok", "failed", "rejected")
