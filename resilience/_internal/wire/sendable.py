"""What HTTP can carry: checks of a request's parts before any policy is involved.

aiohttp refuses some of these too, but only when an attempt is under way, and sends others as they
are, for the server to misread.
"""

import re
from collections.abc import Mapping
from urllib.parse import unquote

import httpx

from resilience._internal.checks import expect

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 5.6.2
_FIELD_VALUE = re.compile(r"[\t\x20-\x7e]*")  # RFC 9110 5.5, the part that all servers read alike
_FRAMING = frozenset({"content-length", "transfer-encoding"})
_LABEL = r"[a-z0-9_-]{1,63}"  # RFC 1035 2.3.4, and the underscore of many a container's name
_HOST_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?")
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")
_MAX_PORT = 65_535
_USUAL_PORTS = {"http": 80, "https": 443}
_CREDENTIALS = re.compile(r"(?<=//)[^/?#]*(?=@)")
_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)  # RFC 3986 3.1
_RESOLVED = 'str(response.url.join(response.headers["location"]))'
_SEPARATOR = re.compile(r"[/\\]")  # some servers treat both alike


def check_method(method: str) -> None:
    """Refuse what is not an HTTP method.

    Raises:
        TypeError, ValueError: It is not text, or not a token of RFC 9110.
    """
    expect("method", method, str, 'write it like "GET"')
    if not _TOKEN.fullmatch(method):
        raise ValueError(f'method must be a word like "GET", got {method!r}')


def check_headers(headers: Mapping[str, object]) -> None:
    """Refuse headers that cannot be sent; the messages leave out their values, often secrets.

    Raises:
        TypeError: They are not a mapping of text to text.
        ValueError: A name is not a token, a value holds more than printable ASCII, or the header
            states the length of the body, which the transport sets.
    """
    expect("headers", headers, Mapping, 'write them like {"x-api-key": "..."}')
    for name, value in headers.items():
        expect("the name of a header", name, str, "write it as text")
        if not isinstance(value, str):
            kind = type(value).__name__
            raise TypeError(f"the header {name!r} has the wrong type ({kind}); write it as text")
        if not _TOKEN.fullmatch(name):
            raise ValueError(f"a header cannot be named {name!r}; use letters, digits and hyphens")
        if not _FIELD_VALUE.fullmatch(value):
            raise ValueError(
                f"the header {name!r} holds a line break or another character that is not "
                "printable ASCII; encode it"
            )
        if name.lower() in _FRAMING:
            raise ValueError(f"the header {name!r} follows from the body; leave it out")


def check_params(params: Mapping[str, object]) -> None:
    """Refuse values that have no defined text in a query, such as arbitrary objects.

    Raises:
        TypeError: They are not a mapping of text to text; numbers, None and lists are allowed too.
        ValueError: A text cannot be encoded as UTF-8.
    """
    expect("params", params, Mapping, 'write them like {"days": "3"}')
    for name, value in params.items():
        expect("the name of a parameter", name, str, "write it as text")
        check_text("params", name)
        for each in value if isinstance(value, list | tuple) else (value,):
            expect(f"the parameter {name!r}", each, str | int | float | None, "write it as text")
            check_text("params", each)


def check_text(name: str, value: object) -> None:
    """Raise a ValueError for text with half a surrogate pair, which has no UTF-8."""
    if isinstance(value, str) and not value.isascii() and _HALF_A_PAIR.search(value):
        raise ValueError(f"{name} holds half a surrogate pair, which has no UTF-8: {value!a:.80}")


def check_path(path: str) -> None:
    """Refuse a path that would lead outside of the base URL, or would not be sent whole.

    Raises:
        ValueError: It does not begin with "/", climbs by "..", however that is written, or has a
            fragment.
    """
    if path and not path.startswith("/"):
        raise ValueError(
            f'path must begin with "/", got {path!r}; write {"/" + path!r}, or, if that is where '
            f"a redirect leads, {_RESOLVED}"
        )
    if "#" in path:
        raise ValueError(f'path has a fragment, which is never sent: {path!r}; write "%23" for "#"')
    if _climbs(path):
        raise ValueError(f'path climbs out of the base URL by "..": {path!r}; write where it leads')


def is_absolute(path: str) -> bool:
    """Tell whether a path is an absolute URL: where a redirect leads."""
    return _ABSOLUTE.match(path) is not None


def check_origin(url: httpx.URL, base_url: str) -> None:
    """Refuse an absolute URL that leads to another host than the source.

    That host would get the source's headers, which may be secret, and its results would count for
    the source. The messages leave out the URL's user, password and query, which often are secret.

    Raises:
        ValueError: Its scheme, host and port are not those of the base URL, or it names a user.
    """
    leads_to, own = _origin(url), _origin(httpx.URL(base_url))
    if leads_to != own:
        raise ValueError(
            f"the URL leads to {leads_to}, but the source is at {own}: its headers are not for "
            "others; make a Source for that address, or correct the base_url if this one has moved"
        )
    if url.userinfo:
        raise ValueError(
            f"the URL to {own} names a user or a password; write them in the source's base_url, "
            "or as an authorization header of the call"
        )
    if _climbs(url.raw_path.decode("ascii")):
        raise ValueError(f'the path of the URL to {own} climbs by ".."; write where it leads')


def _climbs(path: str) -> bool:
    return ".." in _SEPARATOR.split(unquote(path.partition("?")[0]))


def _origin(url: httpx.URL) -> str:
    port = None if url.port == _USUAL_PORTS.get(url.scheme) else url.port
    return str(httpx.URL(scheme=url.scheme, host=url.host, port=port))


def without_credentials(url: str) -> str:
    """Return a URL to show, its user and password masked."""
    return _CREDENTIALS.sub("***", url)


def complaint_about_base_url(base_url: str) -> str | None:
    """Return what is wrong with a base URL, None if requests can be sent below it."""
    shown = without_credentials(base_url)
    try:
        url = httpx.URL(base_url)
    except (httpx.InvalidURL, ValueError) as error:
        why = "" if "@" in base_url else f" ({error})"  # it may quote half of a password
        return f"base_url must be an absolute http(s) URL, got {shown!r}{why}; {_LIKE}"
    if url.scheme not in {"http", "https"} or not url.host or "?" in base_url or "#" in base_url:
        return f"base_url must be an absolute http(s) URL, got {shown!r}; {_LIKE}"
    host = url.raw_host.decode("ascii")
    if ":" not in host and not _HOST_NAME.fullmatch(host):
        return f"base_url must name a host, which {host!r} cannot be, got {shown!r}; {_LIKE}"
    if url.port is not None and not 1 <= url.port <= _MAX_PORT:
        return f"base_url must have a port in 1..{_MAX_PORT}, got {shown!r}; {_LIKE}"
    return None


_LIKE = "write it like http://127.0.0.1:5401"
