"""Calls that send and return JSON as Python values."""

from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from resilience.calls.json_bodies import reader_of
from resilience.calls.raw_calls import RawCalls
from resilience.calls.request import RequestOptions
from resilience.errors import HttpError

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


class JsonCalls(RawCalls):
    """The typed half of a client: each method is one raw `request` and a reading of its body.

    `as_type` is whatever pydantic can validate (models, dataclasses, TypedDicts, `list[int]`,
    `Cat | Dog`), or `dict`, `list` or `object` for plain JSON, which needs no pydantic.

    To a type checker an `as_type` that is a class gives that class, and any other form (a union,
    Literal, Annotated) Any: annotate the variable.

    Beside what `request` raises, they raise

    - HttpError: the status is not 2xx, whatever the body says;
    - InvalidBody: the body is not JSON, or no `as_type`. An answer without a body (204) is no
      JSON: the raw methods are for calls that have none;
    - ImportError: `as_type` needs pydantic, which is not installed; nothing was sent.
    """

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
