"""`/alive`: the process answers. `/health`: so do the things it cannot work without."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from fastapi import APIRouter, Response

Check = Callable[[], Awaitable[object]]
"""Returns when the dependency is well, raises when it is not; the message says why."""

LIMIT_S = 1.0


def health_router(checks: Mapping[str, Check], *, limit_s: float = LIMIT_S) -> APIRouter:
    """Return the routes `/alive` and `/health`.

    Args:
        checks: By the name of the dependency; run side by side at each request.
        limit_s: For each check, in seconds, > 0.

    `/health` answers `{name: "ok" | why not}`, 200 if all are ok and 503 otherwise.
    """
    router = APIRouter(tags=["health"])

    @router.get("/alive")
    async def alive() -> dict[str, bool]:
        """Say that the process answers."""
        return {"alive": True}

    @router.get("/health", responses={503: {"description": "A check failed"}})
    async def health(response: Response) -> dict[str, str]:
        """Check what the service cannot work without."""
        verdicts = await asyncio.gather(*(_verdict(each, limit_s) for each in checks.values()))
        if any(verdict != "ok" for verdict in verdicts):
            response.status_code = 503
        return dict(zip(checks, verdicts, strict=True))

    return router


async def _verdict(check: Check, limit_s: float) -> str:
    try:
        async with asyncio.timeout(limit_s) as limit:
            await check()
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, it is not ready
        return f"no answer within {limit_s:g} s" if limit.expired() else _why(error)
    return "ok"


def _why(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
