"""An HTTP request and its outcome as OpenTelemetry's semantic conventions describe them.

Source: the stable part of "Semantic conventions for HTTP spans" and "... HTTP metrics".
"""

import re
from collections.abc import Iterable
from urllib.parse import unquote_plus

import httpx
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.attributes.http_attributes import (
    HTTP_REQUEST_METHOD,
    HTTP_REQUEST_METHOD_ORIGINAL,
    HTTP_RESPONSE_STATUS_CODE,
)
from opentelemetry.semconv.attributes.server_attributes import SERVER_ADDRESS, SERVER_PORT
from opentelemetry.semconv.attributes.url_attributes import URL_FULL

Attributes = dict[str, str | int]

_KNOWN_METHODS = "CONNECT,DELETE,GET,HEAD,OPTIONS,PATCH,POST,PUT,QUERY,TRACE"
_OTHER_METHOD = "_OTHER"
_PORTS = {"http": 80, "https": 443}
_FIRST_ERROR = 400
_REDACTED = "REDACTED"
_CONVENTIONAL_SECRETS = (
    "AWSAccessKeyId",
    "Signature",
    "sig",
    "X-Amz-Credential",
    "X-Amz-Security-Token",
    "X-Amz-Signature",
    "X-Goog-Signature",
)
_USUAL_SECRETS = (
    "access_token",
    "api_key",
    "auth",
    "client_secret",
    "key",
    "password",
    "secret",
    "token",
)
"""Not in the conventions: where the key of an API often is."""


class Conventions:
    """Describes requests.

    Args:
        known_methods: Those that are recorded by name, separated by commas; None or empty for
            those of HTTP's standards. Any other is `_OTHER`, so that metrics stay few.
        secret_parameters: Query parameters to redact in addition to the usual ones.
    """

    def __init__(
        self, *, known_methods: str | None = None, secret_parameters: Iterable[str] = ()
    ) -> None:
        listed = (known_methods or _KNOWN_METHODS).split(",")
        self._known_methods = frozenset(method.strip() for method in listed)
        secrets = (*_CONVENTIONAL_SECRETS, *_USUAL_SECRETS, *secret_parameters)
        self._secrets = frozenset(map(_folded, secrets))

    def span_name(self, method: str) -> str:
        """Return the name of a request's span: the path varies too much to be part of it."""
        return method if method in self._known_methods else "HTTP"

    def method(self, method: str) -> str:
        """Return the method as it is recorded."""
        return method if method in self._known_methods else _OTHER_METHOD

    def of_request(self, method: str, request: httpx.Request | None) -> Attributes:
        """Return the attributes of a request in a metric."""
        attributes: Attributes = {HTTP_REQUEST_METHOD: self.method(method)}
        if request is not None:
            url = request.url
            attributes[SERVER_ADDRESS] = url.raw_host.decode("ascii")
            attributes[SERVER_PORT] = url.port or _PORTS.get(url.scheme, 0)
        return attributes

    def of_span(self, method: str, request: httpx.Request | None) -> Attributes:
        """Return the attributes of a request in a span, with its full URL."""
        attributes = self.of_request(method, request)
        if method not in self._known_methods:
            attributes[HTTP_REQUEST_METHOD_ORIGINAL] = method
        if request is not None:
            attributes[URL_FULL] = self._without_secrets(request.url)
        return attributes

    def _without_secrets(self, url: httpx.URL) -> str:
        if url.userinfo:
            url = url.copy_with(username=_REDACTED, password=_REDACTED)
        if not url.query:
            return str(url)
        query = "&".join(map(self._redacted, url.query.decode("ascii").split("&")))
        return str(url.copy_with(query=query.encode("ascii")))

    def _redacted(self, parameter: str) -> str:
        name, is_given, _ = parameter.partition("=")
        if is_given and _folded(unquote_plus(name)) in self._secrets:
            return f"{name}={_REDACTED}"
        return parameter


def is_error(outcome: int | BaseException) -> bool:
    """Tell whether a request ended in error: whatever was raised, and any status but 1xx..3xx."""
    return not isinstance(outcome, int) or not 100 <= outcome < _FIRST_ERROR  # noqa: PLR2004


def of_outcome(outcome: int | BaseException, *, error: bool) -> Attributes:
    """Return the attributes of an outcome, a status or what was raised; `error`: it is one."""
    if not isinstance(outcome, int):
        return {ERROR_TYPE: qualified_name(outcome)}
    attributes: Attributes = {HTTP_RESPONSE_STATUS_CODE: outcome}
    return attributes | {ERROR_TYPE: str(outcome)} if error else attributes


def qualified_name(error: BaseException) -> str:
    """Return the name of the error's class with its module, but for Python's own."""
    kind = type(error)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _folded(name: str) -> str:
    return re.sub("[-_]", "", name).lower()
