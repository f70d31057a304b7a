"""The demo's services as a lab starts them."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import httpx
import pytest

from tests.service_process import free_port

ROOT = Path(__file__).parents[3]


@contextmanager
def running(
    name: str, *, stdout: IO[str] | int = subprocess.PIPE, **env: str
) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Run one of the services until the block ends; yield its URL and its process."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    process = subprocess.Popen(
        [
            *(sys.executable, "-W", "error", "-m", "examples.resilience_demo.service"),
            name,
            f"--port={port}",
        ],
        cwd=ROOT,
        env={**os.environ, **env},
        stdout=stdout,
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


def ended(*arguments: str, **env: str) -> tuple[int, str]:
    """Run a service that cannot start; return its exit code and what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "examples.resilience_demo.service", *arguments],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("name", "env", "complaint"),
    [
        (
            "weather",
            {"WEATHER_FALLS_ILL": "yes"},
            """WEATHER_FALLS_ILL must be "true" or "false", got 'yes'""",
        ),
        (
            "caller",
            {},
            (
                "CRYPTO_URL is not set; set it to where `python -m "
                "examples.resilience_demo.service crypto --port 5411` listens: http://127.0.0.1:5411"
            ),
        ),
        (
            "caller",
            {"CRYPTO_URL": "http://127.0.0.1:1", "WEATHER_URL": "here"},
            (
                "WEATHER_URL: base_url must be an absolute http(s) URL, got 'here'; "
                "write it like http://127.0.0.1:5401"
            ),
        ),
    ],
)
def test_a_service_that_is_set_up_wrongly_says_how_to_mend_it(
    name: str, env: dict[str, str], complaint: str
) -> None:
    assert ended(name, f"--port={free_port()}", **env) == (2, f"{complaint}\n")


def test_a_taken_port_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert ended("weather", f"--port={port}") == (
            2,
            (
                f"--port {port} cannot be used (Address already in use); "
                "choose another, or free this one\n"
            ),
        )


@pytest.mark.parametrize("port", ["0", "99999", "-1", "http"])
def test_a_port_that_is_none_is_refused(port: str) -> None:
    code, said = ended("crypto", f"--port={port}")
    assert code == 2
    assert said.endswith(f"argument --port: a port is a number in 1..65535, got '{port}'\n")


@pytest.mark.integration
def test_a_caller_whose_log_cannot_be_written_ends_with_one_sentence() -> None:
    with ExitStack() as stack, Path("/dev/full").open("w") as full:
        crypto_url, _ = stack.enter_context(running("crypto"))
        weather_url, _ = stack.enter_context(running("weather"))
        caller_url, caller = stack.enter_context(
            running("caller", stdout=full, CRYPTO_URL=crypto_url, WEATHER_URL=weather_url)
        )
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{caller_url}/call")
        assert caller.wait(timeout=10) == 1
        assert caller.stderr is not None
        assert caller.stderr.read().startswith(
            "caller: the output cannot be written (No space left"
        )
