"""A rates service that replies whatever bytes a test scripts."""

import socketserver
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import orjson

Script = Sequence[bytes | float]
"""What to do once a request is there: send these bytes, wait this many seconds."""


class ScriptedRates(socketserver.ThreadingTCPServer):
    """Plays `script` to each connection, then hangs up."""

    daemon_threads = True
    block_on_close = False
    script: Script = ()

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        server = self.server
        assert isinstance(server, ScriptedRates)
        self.request.recv(65536)
        try:
            for step in server.script:
                if isinstance(step, bytes):
                    self.request.sendall(step)
                else:
                    time.sleep(step)
        except OSError:
            pass  # the caller has given up on this


@contextmanager
def scripted_rates() -> Iterator[ScriptedRates]:
    """Serve on a free port until the block ends."""
    with ScriptedRates(("127.0.0.1", 0), _Connection) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def reply(body: bytes, status: str = "200 OK", *headers: str) -> Script:
    """Return the script of one complete reply."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return ["\r\n".join([*lines, "", ""]).encode() + body]


def rate(**members: object) -> bytes:
    """Return a good rate of USD as JSON, but for *members*."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return orjson.dumps({"code": "USD", "value": 41.2031, "at": now} | members)
