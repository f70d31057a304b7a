"""The password in front of the web UI, where more than this machine can reach it."""

import hmac
import secrets
import time
from typing import TYPE_CHECKING

from flask import Blueprint, redirect, request, session, url_for
from flask_login import login_user  # type: ignore[import-untyped]
from werkzeug.wrappers import Response

if TYPE_CHECKING:
    from locust.web import WebUI

_WRONG_PASSWORD_COSTS_S = 1.0  # slows guessing down


class _Operator:
    """The one account, as Flask-Login asks for it."""

    id = "operator"
    is_active = is_authenticated = True
    is_anonymous = False

    def get_id(self) -> str:
        return self.id


def install_login(web_ui: "WebUI", *, password: str, base_path: str) -> None:
    """Ask for *password* before any page of *web_ui*; the user name may be any."""
    app = web_ui.app
    assert app is not None  # noqa: S101 - set by WebUI's constructor
    app.secret_key = secrets.token_bytes(32)
    app.config["SESSION_COOKIE_SAMESITE"] = "Strict"
    operator = _Operator()
    web_ui.login_manager.user_loader(lambda own_id: operator if own_id == operator.id else None)
    web_ui.auth_args = {"username_password_callback": f"{base_path}/login/check"}
    blueprint = Blueprint("lab_login", __name__, url_prefix=base_path)

    @blueprint.post("/login/check")
    def check() -> Response:
        given = request.form.get("password", "")
        if hmac.compare_digest(given.encode(), password.encode()):
            login_user(operator)
            return redirect(url_for("locust.index"))
        time.sleep(_WRONG_PASSWORD_COSTS_S)
        session["auth_error"] = "The password is wrong"
        return redirect(url_for("locust.login"))

    app.register_blueprint(blueprint)
