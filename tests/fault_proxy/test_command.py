"""The proxy in a process of its own, as one starts it."""

import asyncio
import json
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from fault_proxy.__main__ import main
from tests.fault_proxy.peers import Peer, echo, serving


@dataclass(frozen=True, slots=True)
class Running:
    """A started proxy."""

    process: asyncio.subprocess.Process
    ready: dict[str, str]

    async def connect(self) -> Peer:
        """Return a client of its."""
        host, _, port = self.ready["listen"].rpartition(":")
        return await Peer.connect((host, int(port)))


@asynccontextmanager
async def running(*arguments: str) -> AsyncIterator[Running]:
    command = (sys.executable, "-m", "fault_proxy", *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            yield Running(process, json.loads(await process.stdout.readline()))
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.integration
async def test_a_fault_comes_and_goes_over_http_and_ends_without_its_lab() -> None:
    async with (
        serving(echo) as upstream,
        running("--upstream", upstream, "--seed", "1") as proxy,
        httpx.AsyncClient(base_url=proxy.ready["control"]) as control,
        await proxy.connect() as client,
    ):
        created = await control.post("/faults", json={"kind": "blackHole", "ttlS": 0.3})
        assert created.status_code == 201
        await client.send(b"held")
        assert await client.receives_nothing(0.1)
        assert await client.receive(4) == b"held"
        assert (await control.get("/faults")).json() == {"faults": [], "applied": 1}
        assert (await control.get("/stats")).json()["connections"]["hit"] == 1

        proxy.process.send_signal(signal.SIGTERM)
        assert await proxy.process.wait() == 0


@pytest.mark.integration
async def test_control_over_a_unix_socket_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))  # left by one that was killed
    async with (
        running("--upstream", "127.0.0.1:1", "--control", str(path)) as proxy,
        httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=str(path))) as control,
    ):
        assert proxy.ready["control"] == f"unix:{path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert (await control.get("http://proxy/faults")).json() == {"faults": [], "applied": 0}

        proxy.process.send_signal(signal.SIGINT)
        assert await proxy.process.wait() == 0
    assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--upstream", "nowhere"], "'nowhere' is no address; write host:port"),
        (["--upstream", "a:1", "--control", "0.0.0.0:0"], "must be loopback"),
        (["--upstream", "a:1", "--listen", "127.0.0.1:{taken}"], "in use"),
    ],
)
def test_a_wrong_command_is_one_line_and_exit_code_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code = main([argument.format(taken=port) for argument in arguments])

    error = capsys.readouterr().err
    assert code == 2
    assert says in error
    assert error.count("\n") == 1
