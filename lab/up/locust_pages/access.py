"""Who may use Locust's web UI: bound to loopback, asked by its own pages only.

Left alone, Locust binds every interface and lets any web page read and start its loads.
"""

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from loadgen.hosts import is_loopback

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LOOPBACK = "127.0.0.1"
_Exception = (
    tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None] | None
)
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_PAGES = frozenset({"same-origin", "none"})  # of Sec-Fetch-Site; `none`: typed by the person
_REFUSED = "403 Forbidden"


def complaint_about_door(*, host: str, login: bool, password: str | None) -> str | None:
    """Return why the web UI must not be opened on *host*, or None if it may."""
    if login and not password:
        return "--web-login needs a password; set LOCUST_WEB_PASSWORD"
    if not is_loopback(host.strip("[]")) and not login:
        return (
            f"--web-host {host or '*'} shows the web UI to other machines, where anybody could"
            " start loads and faults; set LOCUST_WEB_PASSWORD to ask for a password,"
            f" or leave --web-host out to bind {LOOPBACK}"
        )
    return None


def refusal(environ: "WSGIEnvironment", *, bound_to_loopback: bool) -> str | None:
    """Return why the request of *environ* is not one of the UI's own pages, or None if it is.

    A foreign page can send requests here but cannot hide its `Origin`. A name of its own that
    resolves to loopback (DNS rebinding) shows in `Host`.
    """
    host = environ.get("HTTP_HOST", "")
    if bound_to_loopback and not is_loopback(_name(host)):
        return f"this web UI answers as {LOOPBACK} or localhost, not as {host[:80]!r}"
    if environ["REQUEST_METHOD"] in _SAFE_METHODS:
        return None
    origin = environ.get("HTTP_ORIGIN")
    is_foreign = origin is not None and urlsplit(origin).netloc != host
    if is_foreign or environ.get("HTTP_SEC_FETCH_SITE", "none") not in _OWN_PAGES:
        return "only this web UI's own pages may change something here"
    return None


def _name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


class Guard:
    """WSGI middleware: refuses foreign pages' requests and takes CORS headers off all replies."""

    def __init__(self, app: "WSGIApplication", *, bound_to_loopback: bool) -> None:
        self._app = app
        self._bound_to_loopback = bound_to_loopback

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer the request, or let the web UI answer it."""
        why = refusal(environ, bound_to_loopback=self._bound_to_loopback)
        if why is None:
            return self._app(environ, _closed(start_response))
        start_response(_REFUSED, [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{why}\n".encode()]


def _closed(start_response: "StartResponse") -> "StartResponse":
    def start(
        status: str, headers: list[tuple[str, str]], exc_info: _Exception = None, /
    ) -> Callable[[bytes], object]:
        own = [each for each in headers if not each[0].lower().startswith("access-control-")]
        own.append(("X-Frame-Options", "DENY"))
        return start_response(status, own, exc_info)

    return start
