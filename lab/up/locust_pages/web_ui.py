"""What a Locust file calls to have the Chaos page, and a web UI that is this machine's alone."""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from typing import NoReturn

from locust import events
from locust.env import Environment
from locust.event import EventHook
from locust.runners import MasterRunner, WorkerRunner
from locust.web import WebUI

from lab.up.locust_pages.access import LOOPBACK, Guard, complaint_about_door
from lab.up.locust_pages.login import install_login
from lab.up.locust_pages.page import install_page
from lab.up.locust_pages.settings import PageSettings, read_settings
from lab.up.locust_pages.timeline import Timeline
from lab.up.locust_pages.watch import Watch
from loadgen.hosts import is_loopback
from loadgen.outcomes import ERROR_CLASS

SUCCESS = "fresh"  # as the page's chart calls it
_REPORT = "chaos_timeline"  # of a worker to its master
_BAD_USAGE = 2


def add_chaos_page() -> None:
    """Add the page `/chaos/` to the web UI of the Locust that reads this Locust file.

    The page's chart shows requests by their `outcome` in Locust's `context`: `fresh`, `stale`, and
    anything else as an error. A request without one is fresh if it did not fail. The web UI binds
    127.0.0.1 unless `--web-host` says otherwise, which needs a password in LOCUST_WEB_PASSWORD.
    `settings` has the other variables that the page is told by.

    Raises:
        SystemExit: later, when Locust starts, if the options or the variables are unusable.
    """
    _listen(events.init_command_line_parser, _set_safe_defaults)
    _listen(events.init, _install)


def _set_safe_defaults(parser: ArgumentParser) -> None:
    has_password = bool(_settings().web_password)
    parser.set_defaults(web_host=LOOPBACK, class_picker=True, web_login=has_password)


def _install(environment: Environment, web_ui: WebUI | None, **_: object) -> None:
    watch = Watch(environment, _settings())
    _keep_time(environment, watch.timeline)
    if web_ui is None:
        return
    _close_door(web_ui, _settings())
    install_page(web_ui, watch, base_path=_base_path(environment))
    watch.start()
    _listen(environment.events.quitting, lambda **_: watch.stop())


def _keep_time(environment: Environment, timeline: Timeline) -> None:
    """Fill *timeline* from this process's requests, or from the workers' reports."""
    if isinstance(environment.runner, MasterRunner):
        _listen(
            environment.events.worker_report,
            lambda data, **_: timeline.merge(data.get(_REPORT, [])),
        )
        return

    def count(
        start_time: float,
        response_time: float,
        exception: BaseException | None,
        context: dict[str, str],
        **_: object,
    ) -> None:
        outcome = context.get("outcome", SUCCESS if exception is None else ERROR_CLASS)
        timeline.add(start_time + response_time / 1000, outcome, response_time)

    _listen(environment.events.request, count)
    if isinstance(environment.runner, WorkerRunner):
        _listen(
            environment.events.report_to_master,
            lambda data, **_: data.update({_REPORT: timeline.take()}),
        )


def _close_door(web_ui: WebUI, settings: PageSettings) -> None:
    why = complaint_about_door(
        host=web_ui.host, login=web_ui.web_login, password=settings.web_password
    )
    if why is not None:
        _refuse(why)
    if web_ui.web_login:
        base_path = _base_path(web_ui.environment)
        install_login(web_ui, password=settings.web_password or "", base_path=base_path)
    assert web_ui.app is not None  # noqa: S101 - set by WebUI's constructor
    guard = Guard(web_ui.app.wsgi_app, bound_to_loopback=is_loopback(web_ui.host.strip("[]")))
    web_ui.app.wsgi_app = guard  # type: ignore[method-assign]


def _settings() -> PageSettings:
    try:
        return read_settings(os.environ)
    except ValueError as error:
        _refuse(str(error))


def _base_path(environment: Environment) -> str:
    options = environment.parsed_options
    return ("" if options is None else options.web_base_path or "").rstrip("/")


def _refuse(why: str) -> NoReturn:
    sys.stderr.write(f"locust: {why}\n")
    raise SystemExit(_BAD_USAGE)


def _listen(hook: EventHook, listener: Callable[..., object]) -> None:
    hook.add_listener(listener)  # type: ignore[no-untyped-call]
