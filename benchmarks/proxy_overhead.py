"""What the fault proxy costs a healthy link, beside nginx: `python -m benchmarks.proxy_overhead`.

nginx with one worker answers with a few bytes. Clients reach it straight, through nginx as a TCP
proxy (its stream module) and through the fault proxy without a fault; the three take turns, several
times over. Each part has a core where there are two: the proxies share one, the service and the
client the other. Prints, as medians over the rounds:

- the median round trip of one connection that asks and waits, and what each proxy adds to it
- requests/s of `wrk -t1 -c64`, and the processor time that a proxy took for each
- how long the fault proxy's control takes to answer under that load
- the memory of the fault proxy with 2,000 connections held, each after one request

Needs Linux, nginx with its stream module, and wrk.
"""

import asyncio
import http.client
import json
import os
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROUNDS = 7
ROUND_TRIPS = 3_000
WRK_S = 3
CONNECTIONS = 2_000
HEAD = b"GET / HTTP/1.1\r\nHost: rates\r\nUser-Agent: benchmark\r\nAccept: */*\r\n\r\n"
STREAM_MODULE = Path("/usr/lib/nginx/modules/ngx_stream_module.so")
PROXY_CORE, PEER_CORE = 0, 1
NGINX = """
{modules}
daemon off; master_process off; worker_processes 1; pid {folder}/{name}.pid;
error_log {folder}/{name}.log error;
events {{ worker_connections 10000; }}
{block}
"""
SERVICE = """http {{ access_log off; keepalive_requests 1000000000; client_body_temp_path {folder};
  server {{ listen 127.0.0.1:{port} backlog=4096; location / {{
    default_type application/json; return 200 '{{"code": "USD", "value": 41.2031}}'; }} }} }}"""
STREAM = """stream {{ server {{ listen 127.0.0.1:{port} backlog=4096;
  proxy_pass 127.0.0.1:{upstream}; }} }}"""


@dataclass(slots=True)
class Route:
    """A way to the service, and what was measured on it."""

    port: int
    pid: int | None  # of the proxy; None: there is none
    round_trip_us: list[float] = field(default_factory=list)
    requests_per_s: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)  # of the proxy, a request


def main() -> None:
    """Start everything, measure in turns, print."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    pin(os.getpid(), PEER_CORE)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        service = free_port()
        stack.enter_context(nginx(folder, "service", SERVICE, PEER_CORE, port=service))
        stream = free_port()
        stream_pid = stack.enter_context(
            nginx(folder, "stream", STREAM, PROXY_CORE, port=stream, upstream=service)
        )
        pid, port, control = stack.enter_context(fault_proxy(service))
        routes = {
            "straight": Route(service, None),
            "nginx stream": Route(stream, stream_pid),
            "fault proxy": Route(port, pid),
        }
        for round_ in range(ROUNDS + 1):
            for route in routes.values():
                measure(route, counts=round_ > 0)  # the first is warm-up
        report(routes)
        answer_ms = control_answers_ms(control, port)
        print(f"control under load: {statistics.median(answer_ms):.1f} ms, ", end="")
        print(f"{max(answer_ms):.1f} ms at most")
        held_mb = asyncio.run(hold(routes["fault proxy"]))
        print(f"{CONNECTIONS:,} connections held: {held_mb:.0f} MB resident")


def measure(route: Route, *, counts: bool) -> None:
    round_trip_us = median_round_trip_us(route.port)
    before_s = cpu_s(route.pid)
    requests, requests_per_s = wrk(route.port)
    cpu_us = (cpu_s(route.pid) - before_s) / requests * 1e6
    if counts:
        route.round_trip_us.append(round_trip_us)
        route.requests_per_s.append(requests_per_s)
        route.cpu_us.append(cpu_us)


def median_round_trip_us(port: int) -> float:
    """Ask and wait on one kept-alive connection, by a blocking socket."""
    taken_ns = []
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(ROUND_TRIPS):
            started_ns = time.perf_counter_ns()
            client.sendall(HEAD)
            assert client.recv(4096).endswith(b"}"), "a reply in pieces"
            taken_ns.append(time.perf_counter_ns() - started_ns)
    return statistics.median(taken_ns) / 1e3


def wrk(port: int) -> tuple[int, float]:
    """Return the number of requests, and how many a second."""
    command = ["wrk", "-t1", "-c64", f"-d{WRK_S}", f"http://127.0.0.1:{port}/"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "errors" not in output, output
    requests = re.search(r"(\d+) requests in", output)
    rate = re.search(r"Requests/sec:\s*([\d.]+)", output)
    assert requests, output
    assert rate, output
    return int(requests[1]), float(rate[1])


def control_answers_ms(control: str, port: int) -> list[float]:
    """Ask the control again and again while wrk keeps the proxy busy."""
    taken_ms = []
    with subprocess.Popen(
        ["wrk", "-t1", "-c64", f"-d{WRK_S}", f"http://127.0.0.1:{port}/"], stdout=subprocess.DEVNULL
    ) as load:
        connection = http.client.HTTPConnection(control.removeprefix("http://"))
        while load.poll() is None:
            started_s = time.perf_counter()
            connection.request("GET", "/faults")
            assert connection.getresponse().read() == b'{"faults":[]}'
            taken_ms.append((time.perf_counter() - started_s) * 1e3)
            time.sleep(0.02)
        connection.close()
    return taken_ms


async def hold(route: Route) -> float:
    """Return the resident memory of the proxy while so many connections stand."""
    gate = asyncio.Semaphore(100)

    async def open_one() -> asyncio.StreamWriter:
        async with gate:
            reader, writer = await asyncio.open_connection("127.0.0.1", route.port)
            writer.write(HEAD)
            await reader.readuntil(b"}")
            return writer

    writers = await asyncio.gather(*(open_one() for _ in range(CONNECTIONS)))
    held_mb = resident_mb(route.pid)
    for writer in writers:
        writer.close()
    return held_mb


def resident_mb(pid: int | None) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    resident = re.search(r"VmRSS:\s*(\d+)", status)
    assert resident, status
    return int(resident[1]) / 1024


def report(routes: dict[str, Route]) -> None:
    straight = routes["straight"]
    print(
        f"{'':<13} {'round trip us':>14} {'added us':>9} {'(spread)':>12}"
        f" {'requests/s':>11} {'cpu us each':>12}"
    )
    for name, route in routes.items():
        pairs = zip(route.round_trip_us, straight.round_trip_us, strict=True)
        added_us = [through - bare for through, bare in pairs]
        spread = f"{min(added_us):.0f}..{max(added_us):.0f}"
        print(
            f"{name:<13} {statistics.median(route.round_trip_us):>14.0f}"
            f" {statistics.median(added_us):>9.0f} {spread:>12}"
            f" {statistics.median(route.requests_per_s):>11.0f}"
            f" {statistics.median(route.cpu_us):>12.1f}"
        )


@contextmanager
def nginx(
    folder: Path, name: str, block: str, core: int, *, port: int, upstream: int = 0
) -> Iterator[int]:
    """Run nginx as one process and yield its process id."""
    modules = f"load_module {STREAM_MODULE};" if STREAM_MODULE.exists() else ""
    text = block.format(folder=folder, port=port, upstream=upstream)
    config = folder / f"{name}.conf"
    config.write_text(NGINX.format(modules=modules, folder=folder, name=name, block=text))
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    with running([program, "-c", str(config), "-p", str(folder)], core) as process:
        wait_for(port)
        yield process.pid


@contextmanager
def fault_proxy(upstream: int) -> Iterator[tuple[int, int, str]]:
    """Run the fault proxy and yield its process id, its port and the address of its control."""
    command = [sys.executable, "-m", "fault_proxy", "--upstream", f"127.0.0.1:{upstream}"]
    with running(command, PROXY_CORE) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        yield process.pid, int(ready["listen"].rpartition(":")[2]), ready["control"]


@contextmanager
def running(command: list[str], core: int) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        pin(process.pid, core)
        try:
            yield process
        finally:
            process.terminate()


def pin(pid: int, core: int) -> None:
    if os.cpu_count() != 1:
        os.sched_setaffinity(pid, {core})


def cpu_s(pid: int | None) -> float:
    if pid is None:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for(port: int) -> None:
    deadline_s = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.05)
        else:
            return


if __name__ == "__main__":
    main()
