"""`/alive`: the process answers. `/health`: so do the things it cannot work without."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Check = Callable[[], Awaitable[object]]
"""Returns when the dependency is well, raises when it is not; the message says why."""

LIMIT_S = 1.0


def health_routes(checks: Mapping[str, Check], *, limit_s: float = LIMIT_S) -> list[Route]:
    """Return the routes `/alive` and `/health`.

    Args:
        checks: By the name of the dependency; run side by side at each request.
        limit_s: For each check, in seconds, > 0.

    `/health` answers `{name: "ok" | why not}`, 200 if all are ok and 503 otherwise.
    """

    async def alive(_: Request) -> Response:
        return Response(b'{"alive":true}', media_type="application/json")

    async def health(_: Request) -> Response:
        verdicts = await asyncio.gather(*(_verdict(each, limit_s) for each in checks.values()))
        well = all(verdict == "ok" for verdict in verdicts)
        body = orjson.dumps(dict(zip(checks, verdicts, strict=True)))
        return Response(body, 200 if well else 503, media_type="application/json")

    return [Route("/alive", alive), Route("/health", health)]


async def _verdict(check: Check, limit_s: float) -> str:
    try:
        async with asyncio.timeout(limit_s) as limit:
            await check()
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, it is not ready
        return f"no answer within {limit_s:g} s" if limit.expired() else _why(error)
    return "ok"


def _why(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
