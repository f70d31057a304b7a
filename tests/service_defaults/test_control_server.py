import subprocess
import sys

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from chaos.problems import problem
from chaos.request_body import LARGEST_BODY_BYTES, read_body, read_object
from service_defaults.control_server import control_app


class BusyError(Exception):
    """An error of the application's own."""


async def echo(request: Request) -> Response:
    return JSONResponse(read_object(await read_body(request)))


async def crash(_: Request) -> Response:
    raise RuntimeError("password=secret")


async def refuse(_: Request) -> Response:
    raise BusyError("come back later")


async def on_busy(_: Request, error: Exception) -> Response:
    return problem(503, str(error))


APP = control_app(
    [
        Route("/echo", echo, methods=["POST"]),
        Route("/crash", crash),
        Route("/busy", refuse),
    ],
    handlers={BusyError: on_busy},
)


async def send(method: str, path: str, body: bytes = b"") -> httpx.Response:
    transport = httpx.ASGITransport(APP, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return await client.request(method, path, content=body)


async def test_a_json_object_is_read() -> None:
    reply = await send("POST", "/echo", b'{"delayMs": 1, "match": {"path": "/"}}')

    assert reply.json() == {"delayMs": 1, "match": {"path": "/"}}


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "nothing changed: body: not JSON: "),
        (b"[" * 5000, "nothing changed: body: not JSON: "),
        (b"\xff", "nothing changed: body: not JSON: "),
        (b"9" * 5000, "nothing changed: body: not JSON: "),
        (b'{"a": NaN}', "nothing changed: body: not JSON: NaN is not a number in JSON"),
        (b"[]", "nothing changed: body: must be a JSON object"),
        (b'{"a": 1, "a": 2}', "nothing changed: a: given more than once"),
        (b'{"b": {"a": 1, "a": 2}}', "nothing changed: a: given more than once"),
        (b'{"\\ud800": 1, "\\ud800": 2}', "nothing changed: \ud800: given more than once"),
    ],
)
async def test_a_body_that_can_be_read_in_two_ways_or_in_none_is_refused(
    body: bytes, detail: str
) -> None:
    reply = await send("POST", "/echo", body)

    assert reply.status_code == 422
    assert reply.json()["detail"].startswith(detail)


async def test_a_body_may_be_as_long_as_the_limit_and_no_longer() -> None:
    longest = b'{"a": "' + b"x" * (LARGEST_BODY_BYTES - 9) + b'"}'

    assert (await send("POST", "/echo", longest)).status_code == 200
    assert (await send("POST", "/echo", longest + b" ")).status_code == 413


@pytest.mark.parametrize(
    ("method", "path", "status", "detail"),
    [
        ("GET", "/nowhere", 404, None),
        ("GET", "/echo", 405, None),
        ("GET", "/busy", 503, "come back later"),
        ("GET", "/crash", 500, None),
    ],
)
async def test_every_error_is_a_problem(
    method: str, path: str, status: int, detail: str | None
) -> None:
    reply = await send(method, path)

    assert reply.status_code == reply.json()["status"] == status
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json().get("detail") == detail


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("fault_proxy.__main__", {"fastapi", "structlog"}),  # there is one for each link
        ("chaos", {"service_defaults", "console", "fastapi", "uvicorn"}),  # it is useful alone
    ],
)
def test_who_needs_little_imports_little(module: str, without: set[str]) -> None:
    program = f"import sys, {module}; print(*(name.partition('.')[0] for name in sys.modules))"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert without.isdisjoint(told.stdout.decode().split())
