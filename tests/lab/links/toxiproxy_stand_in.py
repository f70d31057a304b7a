"""The HTTP API of a Toxiproxy server as its documentation has it, without the proxies."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ATTRIBUTES = {  # what each type of toxic takes
    "latency": {"latency", "jitter"},
    "bandwidth": {"rate"},
    "slow_close": {"delay"},
    "timeout": {"timeout"},
    "reset_peer": {"timeout"},
    "slicer": {"average_size", "size_variation", "delay"},
    "limit_data": {"bytes"},
}
FIRST_PORT = 20_001

Document = dict[str, Any]
Answer = tuple[int, object]


@dataclass(slots=True)
class StandIn:
    """Keeps proxies and their toxics, and refuses what the real server would."""

    url: str = ""
    proxies: dict[str, Document] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def answer(self, method: str, path: str, body: Document) -> Answer:
        """Return status and document."""
        self.asked.append(f"{method} {path}")
        name, *rest = path.removeprefix("/proxies").removeprefix("/").split("/")
        if not name:
            return self._make(body)
        if name not in self.proxies:
            return 404, {"error": "proxy not found", "status": 404}
        toxics = self.proxies[name]["toxics"]
        match method, rest:
            case "POST", ["toxics"]:
                return self._add(toxics, body)
            case "DELETE", ["toxics", toxic]:
                return self._remove(toxics, toxic)
            case "DELETE", []:
                del self.proxies[name]
                return 204, None
            case _:
                self.proxies[name] |= body
                return 200, self.proxies[name]

    def _make(self, body: Document) -> Answer:
        if body["name"] in self.proxies:
            return 409, {"error": "proxy already exists", "status": 409}
        host, _, port = body["listen"].rpartition(":")
        port = int(port) or FIRST_PORT + len(self.proxies)
        proxy = body | {"listen": f"{host}:{port}", "toxics": []}
        self.proxies[body["name"]] = proxy
        return 201, proxy

    def _add(self, toxics: list[Document], body: Document) -> Answer:
        if body["type"] not in ATTRIBUTES or body["stream"] not in {"upstream", "downstream"}:
            return 400, {"error": "invalid toxic type", "status": 400}
        if set(body["attributes"]) != ATTRIBUTES[body["type"]] or not 0 <= body["toxicity"] <= 1:
            return 400, {"error": "bad request body", "status": 400}
        if any(toxic["name"] == body["name"] for toxic in toxics):
            return 409, {"error": "toxic already exists", "status": 409}
        toxics.append(body)
        return 200, body

    def _remove(self, toxics: list[Document], name: str) -> Answer:
        for toxic in toxics:
            if toxic["name"] == name:
                toxics.remove(toxic)
                return 204, None
        return 404, {"error": "toxic not found", "status": 404}


@contextmanager
def toxiproxy() -> Iterator[StandIn]:
    """Serve the API on a free port until the block ends."""
    stand_in = StandIn()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            length = int(self.headers.get("content-length", 0))
            body = json.loads(self.rfile.read(length)) if length else {}
            status, document = stand_in.answer(self.command, self.path, body)
            content = b"" if document is None else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = handle_any  # noqa: N815 - the names that the class looks for

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        stand_in.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield stand_in
        finally:
            server.shutdown()
            thread.join()
