"""The methods of a client, raw and typed, each one `request` and a reading of its response."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

import httpx

from resilience._internal.wire.json_bodies import reader_of
from resilience.errors import HttpError
from resilience.request import RequestOptions

if TYPE_CHECKING:
    import sys
    from types import UnionType
    from typing import _SpecialForm

    if sys.version_info >= (3, 12):  # where a `TypeAliasType` of typing_extensions is typing's
        from typing import TypeAliasType
    else:
        from typing_extensions import TypeAliasType

    # What a type checker takes `Cat | Dog`, Literal, Annotated and an alias by `type` for. As
    # `object` it would be a class too, and `dog: Dog = await get_json(…, as_type=Cat)` no error.
    NoClass = UnionType | _SpecialForm | TypeAliasType

T = TypeVar("T")


class Calls(ABC):
    """A method for each of HTTP's but CONNECT and TRACE, raw, and with `_json` typed.

    A raw one is `request` with its method. A typed one returns the body of a 2xx answer as an
    `as_type`: whatever pydantic can validate (models, dataclasses, TypedDicts, `list[int]`,
    `Cat | Dog`), or `dict`, `list` or `object` for plain JSON, which needs no pydantic.

    To a type checker an `as_type` that is a class gives that class, and any other form (a union,
    Literal, Annotated) Any: annotate the variable.

    Besides what `request` raises, the typed ones raise

    - HttpError: the status is not 2xx, whatever the body says;
    - InvalidBody: the body is not JSON, or does not match `as_type`. A response without a body
      (204) is not JSON: the raw methods are for calls that have none;
    - ImportError: `as_type` needs pydantic, which is not installed; nothing was sent.
    """

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

    @overload
    async def request_json(
        self,
        method: str,
        source: str,
        path: str,
        *,
        as_type: type[T],
        **options: Unpack[RequestOptions],
    ) -> T: ...
    @overload
    async def request_json(
        self,
        method: str,
        source: str,
        path: str,
        *,
        as_type: "NoClass",
        **options: Unpack[RequestOptions],
    ) -> Any: ...
    async def request_json(
        self,
        method: str,
        source: str,
        path: str,
        *,
        as_type: Any,
        **options: Unpack[RequestOptions],
    ) -> Any:
        """Return the body of a 2xx answer as an `as_type`."""
        read = reader_of(as_type)
        response = await self.request(method, source, path, **options)
        if not response.is_success:
            raise HttpError(response)
        return read(response)

    @overload
    async def get_json(
        self, source: str, path: str, *, as_type: type[T], **options: Unpack[RequestOptions]
    ) -> T: ...
    @overload
    async def get_json(
        self, source: str, path: str, *, as_type: "NoClass", **options: Unpack[RequestOptions]
    ) -> Any: ...
    async def get_json(
        self, source: str, path: str, *, as_type: Any, **options: Unpack[RequestOptions]
    ) -> Any:
        """GET `path` of `source` and return the body as an `as_type`."""
        return await self.request_json("GET", source, path, as_type=as_type, **options)

    @overload
    async def post_json(
        self, source: str, path: str, *, as_type: type[T], **options: Unpack[RequestOptions]
    ) -> T: ...
    @overload
    async def post_json(
        self, source: str, path: str, *, as_type: "NoClass", **options: Unpack[RequestOptions]
    ) -> Any: ...
    async def post_json(
        self, source: str, path: str, *, as_type: Any, **options: Unpack[RequestOptions]
    ) -> Any:
        """POST `path` of `source` and return the body as an `as_type`."""
        return await self.request_json("POST", source, path, as_type=as_type, **options)

    @overload
    async def put_json(
        self, source: str, path: str, *, as_type: type[T], **options: Unpack[RequestOptions]
    ) -> T: ...
    @overload
    async def put_json(
        self, source: str, path: str, *, as_type: "NoClass", **options: Unpack[RequestOptions]
    ) -> Any: ...
    async def put_json(
        self, source: str, path: str, *, as_type: Any, **options: Unpack[RequestOptions]
    ) -> Any:
        """PUT `path` of `source` and return the body as an `as_type`."""
        return await self.request_json("PUT", source, path, as_type=as_type, **options)

    @overload
    async def patch_json(
        self, source: str, path: str, *, as_type: type[T], **options: Unpack[RequestOptions]
    ) -> T: ...
    @overload
    async def patch_json(
        self, source: str, path: str, *, as_type: "NoClass", **options: Unpack[RequestOptions]
    ) -> Any: ...
    async def patch_json(
        self, source: str, path: str, *, as_type: Any, **options: Unpack[RequestOptions]
    ) -> Any:
        """PATCH `path` of `source` and return the body as an `as_type`."""
        return await self.request_json("PATCH", source, path, as_type=as_type, **options)

    @overload
    async def delete_json(
        self, source: str, path: str, *, as_type: type[T], **options: Unpack[RequestOptions]
    ) -> T: ...
    @overload
    async def delete_json(
        self, source: str, path: str, *, as_type: "NoClass", **options: Unpack[RequestOptions]
    ) -> Any: ...
    async def delete_json(
        self, source: str, path: str, *, as_type: Any, **options: Unpack[RequestOptions]
    ) -> Any:
        """DELETE `path` of `source` and return the body as an `as_type`."""
        return await self.request_json("DELETE", source, path, as_type=as_type, **options)
