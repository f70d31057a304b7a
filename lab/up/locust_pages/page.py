"""The Chaos page, the requests of its script, and the link to it in Locust's own page."""

import hmac
import secrets
from typing import TYPE_CHECKING

from flask import Blueprint, Response, abort, jsonify, render_template, request
from flask.typing import ResponseReturnValue

from lab.up.locust_pages.asking import NoAnswerError
from lab.up.locust_pages.injector import RefusedError
from lab.up.locust_pages.lab_control import VERBS
from lab.up.locust_pages.watch import Watch

if TYPE_CHECKING:
    from locust.web import WebUI

TOKEN_HEADER = "X-Chaos-Page"  # noqa: S105 - the name of a header
_CONTENT_POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
_LINK = (
    b'<nav aria-label="Resilience Lab" style="position:fixed;right:1rem;bottom:1rem;z-index:2000">'
    b'<a href="./chaos/" style="padding:.5rem 1rem;border-radius:1rem;background:#15803d;'
    b'color:#fff;font:600 1rem system-ui;text-decoration:none">Chaos page</a></nav>'
)


def install_page(web_ui: "WebUI", watch: Watch, *, base_path: str) -> None:
    """Add the page at `/chaos/` to *web_ui*, behind its login if it has one."""
    app = web_ui.app
    assert app is not None  # noqa: S101 - set by WebUI's constructor
    blueprint = _blueprint(watch, f"{base_path}/chaos")
    ask_for_login = web_ui.auth_required_if_enabled(lambda: None)  # type: ignore[no-untyped-call]

    @blueprint.before_request
    def log_in_first() -> ResponseReturnValue | None:
        answer: ResponseReturnValue | None = ask_for_login()
        return answer

    @app.after_request
    def link(response: Response) -> Response:
        if request.endpoint == "locust.index" and response.mimetype == "text/html":
            response.set_data(response.get_data().replace(b"</body>", _LINK + b"</body>"))
        return response

    app.register_blueprint(blueprint)


def _blueprint(watch: Watch, prefix: str) -> Blueprint:
    blueprint = Blueprint(
        "chaos",
        __name__,
        url_prefix=prefix,
        template_folder="templates",
        static_folder="static",
        static_url_path="/static",
    )
    token = secrets.token_urlsafe(32)

    @blueprint.before_request
    def check_token() -> None:
        if request.method in ("GET", "HEAD", "OPTIONS"):
            return
        if not hmac.compare_digest(request.headers.get(TOKEN_HEADER, "").encode(), token.encode()):
            abort(403, "the page is older than this Locust; reload it")

    @blueprint.after_request
    def close(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = _CONTENT_POLICY
        response.headers["Cache-Control"] = "no-store"
        return response

    @blueprint.get("/")
    def page() -> str:
        return render_template("chaos.html", token=token, verbs=VERBS)

    @blueprint.get("/state")
    def state() -> Response:
        return jsonify(watch.state())

    @blueprint.put("/services/<name>")
    def put_on(name: str) -> Response:
        injector = watch.injectors.get(name) or abort(404, f"no service {name!r} has an injector")
        injector.put_on(_document())
        return _seen(watch)

    @blueprint.delete("/services/<name>")
    def take_off(name: str) -> Response:
        injector = watch.injectors.get(name) or abort(404, f"no service {name!r} has an injector")
        injector.take_off()
        return _seen(watch)

    @blueprint.post("/processes/<name>/<verb>")
    def act(name: str, verb: str) -> Response:
        control = watch.control or abort(404, "no `python -m lab up` is named by LAB_CONTROL")
        control.act(name, verb)
        control.refresh()
        return _seen(watch)

    _explain_errors(blueprint)
    return blueprint


def _explain_errors(blueprint: Blueprint) -> None:
    @blueprint.errorhandler(RefusedError)
    def refused(error: RefusedError) -> tuple[Response, int]:
        return jsonify(detail=str(error)), 422

    @blueprint.errorhandler(NoAnswerError)
    def unanswered(error: NoAnswerError) -> tuple[Response, int]:
        return jsonify(detail=str(error)), 504


def _document() -> dict[str, object]:
    document = request.get_json(silent=True)
    if not isinstance(document, dict):
        raise RefusedError("a fault must be a JSON object")
    return document


def _seen(watch: Watch) -> Response:
    watch.observe()
    return jsonify(watch.state())
