"""Calls that send and return JSON as Python values."""

from typing import TypeVar, Unpack

from resilience.errors import HttpError
from resilience.json_bodies import reader_of
from resilience.raw_calls import RawCalls
from resilience.request import RequestOptions

T = TypeVar("T")


class JsonCalls(RawCalls):
    """The typed half of a client: each method is one raw `request` and a reading of its body.

    `as_type` is whatever pydantic can validate (models, dataclasses, TypedDicts, `list[int]`), or
    `dict`, `list` or `object` for plain JSON, which needs no pydantic.

    Beside what `request` raises, they raise

    - HttpError: the status is not 2xx, whatever the body says;
    - InvalidBody: the body is not JSON, or no `as_type`. An answer without a body (204) is no
      JSON: the raw methods are for calls that have none;
    - ImportError: `as_type` needs pydantic, which is not installed; nothing was sent.
    """

    async def request_json(
        self,
        method: str,
        source: str,
        path: str,
        *,
        as_type: type[T],
        **options: Unpack[RequestOptions],
    ) -> T:
        """Return the body of a 2xx answer as an `as_type`."""
        read = reader_of(as_type)
        response = await self.request(method, source, path, **options)
        if not response.is_success:
            raise HttpError(response)
        return read(response)

    async def get_json(
        self, source: str, path: str, *, as_type: type[T], **options: Unpack[RequestOptions]
    ) -> T:
        """GET `path` of `source` and return the body as an `as_type`."""
        return await self.request_json("GET", source, path, as_type=as_type, **options)

    async def post_json(
        self, source: str, path: str, *, as_type: type[T], **options: Unpack[RequestOptions]
    ) -> T:
        """POST `path` of `source` and return the body as an `as_type`."""
        return await self.request_json("POST", source, path, as_type=as_type, **options)

    async def put_json(
        self, source: str, path: str, *, as_type: type[T], **options: Unpack[RequestOptions]
    ) -> T:
        """PUT `path` of `source` and return the body as an `as_type`."""
        return await self.request_json("PUT", source, path, as_type=as_type, **options)

    async def patch_json(
        self, source: str, path: str, *, as_type: type[T], **options: Unpack[RequestOptions]
    ) -> T:
        """PATCH `path` of `source` and return the body as an `as_type`."""
        return await self.request_json("PATCH", source, path, as_type=as_type, **options)

    async def delete_json(
        self, source: str, path: str, *, as_type: type[T], **options: Unpack[RequestOptions]
    ) -> T:
        """DELETE `path` of `source` and return the body as an `as_type`."""
        return await self.request_json("DELETE", source, path, as_type=as_type, **options)
