from typing import Annotated

import httpx
import pytest
from fastapi import FastAPI, HTTPException, Query

from service_defaults.problems import ProblemError, install_problems


def demo() -> FastAPI:
    app = FastAPI()
    install_problems(app)

    @app.get("/crash")
    async def crash() -> None:
        raise RuntimeError("password=secret")

    @app.get("/gone")
    async def gone() -> None:
        raise HTTPException(410, "moved house", headers={"X-Where": "unknown"})

    @app.get("/problem")
    async def raised() -> None:
        raise ProblemError(422, "too many", fields={"n": "at most 3"})

    @app.get("/refused/{status}")
    async def refused(status: int) -> None:
        raise HTTPException(status)

    @app.get("/count")
    async def count(n: Annotated[int, Query(le=3)]) -> int:
        return n

    return app


async def send(method: str, path: str) -> httpx.Response:
    transport = httpx.ASGITransport(demo(), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://demo") as client:
        return await client.request(method, path)


@pytest.mark.parametrize(
    ("method", "path", "status", "title"),
    [
        ("GET", "/nowhere", 404, "Not Found"),
        ("POST", "/count", 405, "Method Not Allowed"),
        ("GET", "/gone", 410, "Gone"),
        ("GET", "/count", 422, "Unprocessable Content"),
        ("GET", "/problem", 422, "Unprocessable Content"),
        ("GET", "/crash", 500, "Internal Server Error"),
    ],
)
async def test_every_error_is_a_problem(method: str, path: str, status: int, title: str) -> None:
    response = await send(method, path)

    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert (
        response.json().items() >= {"type": "about:blank", "title": title, "status": status}.items()
    )


@pytest.mark.parametrize(
    ("status", "title"),
    [
        (404, "Not Found"),
        (413, "Content Too Large"),
        (414, "URI Too Long"),
        (416, "Range Not Satisfiable"),
        (422, "Unprocessable Content"),
    ],
)
async def test_a_refusal_without_a_detail_has_the_title_of_rfc_9110_and_nothing_else(
    status: int, title: str
) -> None:
    problem = (await send("GET", f"/refused/{status}")).json()

    assert problem == {"type": "about:blank", "title": title, "status": status}


@pytest.mark.parametrize(("path", "field"), [("/count?n=4", "n"), ("/problem", "n")])
async def test_invalid_input_names_the_field(path: str, field: str) -> None:
    response = await send("GET", path)

    assert [error["field"] for error in response.json()["errors"]] == [field]


async def test_a_crash_tells_nothing_of_the_inside() -> None:
    response = await send("GET", "/crash")

    assert "secret" not in response.text


async def test_headers_of_an_exception_are_kept() -> None:
    assert (await send("GET", "/gone")).headers["x-where"] == "unknown"
    assert (await send("POST", "/count")).headers["allow"] == "GET"
