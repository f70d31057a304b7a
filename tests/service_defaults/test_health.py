import asyncio

import httpx
import pytest
from fastapi import FastAPI

from service_defaults.health import Check, health_router


async def well() -> None:
    await asyncio.sleep(0)


async def down() -> None:
    raise ConnectionError("refused")


async def hung() -> None:
    await asyncio.sleep(3600)


def _app(checks: dict[str, Check]) -> FastAPI:
    app = FastAPI()
    app.include_router(health_router(checks))
    return app


async def get(path: str, checks: dict[str, Check]) -> httpx.Response:
    transport = httpx.ASGITransport(_app(checks))
    async with httpx.AsyncClient(transport=transport, base_url="http://demo") as client:
        return await client.get(path)


@pytest.mark.virtual_clock
@pytest.mark.parametrize(
    ("checks", "status", "verdicts"),
    [
        ({}, 200, {}),
        ({"redis": well}, 200, {"redis": "ok"}),
        (
            {"redis": well, "rates": down},
            503,
            {"redis": "ok", "rates": "ConnectionError: refused"},
        ),
        ({"rates": hung}, 503, {"rates": "no answer within 1 s"}),
    ],
)
async def test_health_tells_of_each_dependency_whether_it_answers(
    checks: dict[str, Check], status: int, verdicts: dict[str, str]
) -> None:
    response = await get("/health", checks)

    assert (response.status_code, response.json()) == (status, verdicts)


@pytest.mark.virtual_clock
async def test_hung_dependencies_are_waited_for_side_by_side() -> None:
    await get("/health", {"a": hung, "b": hung, "c": hung})

    assert asyncio.get_running_loop().time() == pytest.approx(1)


@pytest.mark.virtual_clock
async def test_alive_asks_no_dependency() -> None:
    response = await get("/alive", {"rates": down})

    assert response.status_code == 200
