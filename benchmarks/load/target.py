"""nginx with one worker and tiny replies of two kinds, started in a folder of its own.

The constant reply is the same each time, but for the date once per second. The varying one has an
`X-Request-Id` of its own and a body of its own, as most services send them; the body's length
varies too.
"""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KINDS = ("constant", "varying")  # of replies; each has its own path, of the same name
_CONSTANT = '{"source":"fresh","rate":41.2031,"ageSec":0}'
_VARYING = '{"source":"fresh","rate":41.2031,"served":$connection_requests,"id":"$request_id"}'
_START_S = 10.0
_CONFIG = """
daemon off; master_process off; worker_processes 1;
pid {folder}/nginx.pid; error_log {folder}/nginx.log error;
events {{ worker_connections 20000; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    default_type application/json;
    location = /constant {{ return 200 '{constant}'; }}
    location = /varying {{ add_header X-Request-Id $request_id; return 200 '{varying}'; }}
  }}
}}
"""


@contextmanager
def nginx(program: str, folder: Path, *, core: int) -> Iterator[int]:
    """Run nginx on *core* and yield the port on the loopback that it listens on.

    Raises:
        RuntimeError: it does not come up.
    """
    port = _free_port()
    config = folder / "nginx.conf"
    config.write_text(
        _CONFIG.format(folder=folder, port=port, constant=_CONSTANT, varying=_VARYING)
    )
    command = pinned([program, "-c", str(config), "-p", str(folder)], core)
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port, process, folder / "nginx.log")
            yield port
        finally:
            process.terminate()


def pinned(command: list[str], core: int) -> list[str]:
    """Return the command that runs *command* on one core."""
    return ["taskset", "-c", str(core), *command]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline_s = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < deadline_s:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.02)
        else:
            return
    said = log.read_text() if log.exists() else "nothing"
    raise RuntimeError(f"nginx did not listen on port {port} in {_START_S:g} s; it says: {said}")
