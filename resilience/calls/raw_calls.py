"""Calls that return the response as it came."""

from abc import ABC, abstractmethod
from typing import Unpack

import httpx

from resilience.calls.request import RequestOptions


class RawCalls(ABC):
    """A method for each of HTTP's but CONNECT and TRACE, all by way of `request`."""

    @abstractmethod
    async def request(
        self, method: str, source: str, path: str, **options: Unpack[RequestOptions]
    ) -> httpx.Response:
        """Return the response with its body read, whatever its status."""

    async def get(
        self, source: str, path: str, **options: Unpack[RequestOptions]
    ) -> httpx.Response:
        """GET `path` of `source`; see `request`."""
        return await self.request("GET", source, path, **options)

    async def head(
        self, source: str, path: str, **options: Unpack[RequestOptions]
    ) -> httpx.Response:
        """HEAD `path` of `source`; see `request`."""
        return await self.request("HEAD", source, path, **options)

    async def options(
        self, source: str, path: str, **options: Unpack[RequestOptions]
    ) -> httpx.Response:
        """OPTIONS `path` of `source`; see `request`."""
        return await self.request("OPTIONS", source, path, **options)

    async def post(
        self, source: str, path: str, **options: Unpack[RequestOptions]
    ) -> httpx.Response:
        """POST `path` of `source`; see `request`."""
        return await self.request("POST", source, path, **options)

    async def put(
        self, source: str, path: str, **options: Unpack[RequestOptions]
    ) -> httpx.Response:
        """PUT `path` of `source`; see `request`."""
        return await self.request("PUT", source, path, **options)

    async def patch(
        self, source: str, path: str, **options: Unpack[RequestOptions]
    ) -> httpx.Response:
        """PATCH `path` of `source`; see `request`."""
        return await self.request("PATCH", source, path, **options)

    async def delete(
        self, source: str, path: str, **options: Unpack[RequestOptions]
    ) -> httpx.Response:
        """DELETE `path` of `source`; see `request`."""
        return await self.request("DELETE", source, path, **options)
