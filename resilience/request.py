"""What a caller may say about one request, and the request that comes of it."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

import httpx

from resilience.json_bodies import encode
from resilience.source import Overrides

# What httpx decodes without an extra package; aiohttp would offer what only it can decode.
_DEFAULT_HEADERS = {"accept": "*/*", "accept-encoding": "gzip, deflate"}


class RequestOptions(Overrides, total=False):
    """What a call may add to its method, source and path.

    Attributes:
        params: Of the query.
        headers: Beside, or instead of, the source's own.
        content: Body; bytes or text only, because each attempt sends it again.
        json: Body as a value, see `json_bodies.encode`; instead of `content`.
    """

    params: Mapping[str, str] | None
    headers: Mapping[str, str] | None
    content: bytes | str | None
    json: Any


_OPTIONS = frozenset(RequestOptions.__annotations__)
_OVERRIDES = frozenset(Overrides.__annotations__)


def source_headers(headers: Mapping[str, str]) -> httpx.Headers:
    """Return what every request to a source with these headers carries."""
    return httpx.Headers({**_DEFAULT_HEADERS, **headers})


def overrides_of(options: RequestOptions) -> Overrides:
    """Return those of the options that replace policies."""
    given = {name: value for name, value in options.items() if name in _OVERRIDES}
    return cast("Overrides", given)


def build_request(
    method: str, base_url: str, path: str, own: httpx.Headers, options: RequestOptions
) -> httpx.Request:
    """Return the request.

    Args:
        method: HTTP method, any case.
        base_url: Of the source, without a "/" at its end.
        path: Begins with "/", or is empty.
        own: Headers of the source.
        options: Of the call.

    Raises:
        ValueError: The path does not begin with "/", both bodies are given, or `json` holds NaN.
        TypeError: JSON cannot say what `json` holds, or an option is unknown.
    """
    if not options.keys() <= _OPTIONS:
        unknown = ", ".join(sorted(options.keys() - _OPTIONS))
        raise TypeError(f"unknown option {unknown}; known: {', '.join(sorted(_OPTIONS))}")
    if path and not path.startswith("/"):
        raise ValueError(f'path must begin with "/", got {path!r}; write {"/" + path!r}')
    content, value = options.get("content"), options.get("json")
    if content is not None and value is not None:
        raise ValueError("content and json are both given, but a request has one body; drop one")
    headers = own
    if extra := options.get("headers"):
        headers = _merged(own, extra)
    if value is not None:
        content = encode(value)
        headers = _merged(httpx.Headers({"content-type": "application/json"}), headers)
    return httpx.Request(
        method,
        _parsed(base_url + path),
        params=options.get("params"),
        headers=headers,
        content=content,
    )


@lru_cache(maxsize=256)  # parsing costs more than all policies, and paths repeat
def _parsed(url: str) -> httpx.URL:
    return httpx.URL(url)


def _merged(own: httpx.Headers, extra: Mapping[str, str]) -> httpx.Headers:
    headers = httpx.Headers(own)
    headers.update(extra)
    return headers
