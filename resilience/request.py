"""The options of one request, and the request that is built from them."""

from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

import httpx

from resilience._internal.checks import expect
from resilience._internal.wire.json_bodies import encode
from resilience._internal.wire.sendable import (
    check_headers,
    check_method,
    check_origin,
    check_params,
    check_path,
    check_text,
    is_absolute,
)
from resilience.source import Overrides, Source

# What httpx decodes without an extra package; aiohttp would offer codings of its own.
_DEFAULT_HEADERS = {"accept": "*/*", "accept-encoding": "gzip, deflate"}


_ParamValue = str | int | float | None
# The list is of Any because lists are invariant: list[int] is not a list of these.
Params = Mapping[str, _ParamValue | list[Any] | tuple[_ParamValue, ...]]


class RequestOptions(Overrides, total=False):
    """What a call may add to its method, source and path.

    Attributes:
        params: Parameters of the query, after those in the path; a list repeats its name.
        headers: In addition to the source's own, or in their place; printable ASCII.
        content: Body; bytes or text only, because each attempt sends it again.
        json: Body as a value, see `json_bodies.encode`; instead of `content`. None is the body
            `null`: leave it out for no body.
    """

    params: Params | None
    headers: Mapping[str, str] | None
    content: bytes | str | None
    json: Any


_JSON_HEADERS = httpx.Headers({"content-type": "application/json"})
_USUAL_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OPTIONS = frozenset(RequestOptions.__annotations__)
_OVERRIDES = frozenset(Overrides.__annotations__)


def address_of(source: Source) -> tuple[str, httpx.Headers]:
    """Return the base URL of a source, and the headers of all requests to it.

    The base URL has no "/" at its end, and no user and password: they are a header among the
    others, which a call may replace, and stay out of messages that show the URL.
    """
    url = httpx.URL(source.base_url)
    headers = httpx.Headers(_DEFAULT_HEADERS)
    if url.userinfo:
        credentials = b64encode(f"{url.username}:{url.password}".encode()).decode("ascii")
        headers["authorization"] = f"Basic {credentials}"
        url = url.copy_with(userinfo=b"")
    headers.update(source.headers)
    return str(url).rstrip("/"), headers


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
        path: Begins with "/", or is empty; or an absolute URL of the same origin.
        own: Headers of the source.
        options: Of the call.

    Raises:
        ValueError: A part cannot be sent (see `sendable`), both bodies are given, or `json` holds
            NaN or is nested too deeply.
        TypeError: A part is of the wrong kind, `json` has no JSON form, or an option is
            unknown.
    """
    if not options.keys() <= _OPTIONS:
        unknown = ", ".join(sorted(options.keys() - _OPTIONS))
        raise TypeError(f"unknown option {unknown}; known: {', '.join(sorted(_OPTIONS))}")
    if method not in _USUAL_METHODS:
        check_method(method)
    headers = own
    if (extra := options.get("headers")) is not None:
        check_headers(extra)
        headers = _merged(own, extra)
    content = _content(options)
    if "json" in options:
        headers = _merged(_JSON_HEADERS, headers)
    url = _url(base_url, path, options.get("params"))
    return httpx.Request(method, url, headers=headers, content=content)


def _content(options: RequestOptions) -> bytes | str | None:
    content = options.get("content")
    if content is None:
        return encode(options["json"]) if "json" in options else None
    if "json" in options:
        raise ValueError("content and json are both given, but a request has one body; drop one")
    expect("content", content, bytes | str, "join its parts: each attempt sends the body again")
    check_text("content", content)
    return content


def _url(base_url: str, path: str, params: Params | None) -> httpx.URL:
    expect("path", path, str, 'write it like "/rates/USD"')
    check_text("path", path)
    try:
        url = _parsed(base_url, path)
        if params is None:
            return url
        check_params(params)
        both = (url.query.decode("ascii"), str(httpx.QueryParams(params)))
        return url.copy_with(query="&".join(filter(None, both)).encode("ascii") or None)
    except httpx.InvalidURL as error:
        raise ValueError(f"no URL can be made of path {path!r:.80}: {error}") from error


@lru_cache(maxsize=256)  # parsing costs more than all policies, and paths repeat
def _parsed(base_url: str, path: str) -> httpx.URL:
    if is_absolute(path):
        url = httpx.URL(path).copy_with(fragment=None)  # a redirect may have one
        check_origin(url, base_url)
        return url
    check_path(path)
    return httpx.URL(base_url + path)


def _merged(own: httpx.Headers, extra: Mapping[str, str]) -> httpx.Headers:
    headers = httpx.Headers(own)
    headers.update(extra)
    return headers
