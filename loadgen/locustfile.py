"""Ad-hoc load on the converter, from a browser, with a Chaos page beside it.

    locust -f loadgen/locustfile.py --host http://127.0.0.1:5400

A resilient and a raw user; the class picker of the web UI chooses them and their weights. Each
request is one row of the statistics, named by what became of it: `/convert resilient -> stale`.

The web UI binds 127.0.0.1 unless `--web-host` says otherwise, which needs a password in
LOCUST_WEB_PASSWORD. Its page `/chaos/` works the faults of the running system:

    LAB_CHAOS_URLS='{"rates": "http://127.0.0.1:5401/chaos"}'   the services' fault injectors
    LAB_CHAOS_TOKEN                                             their bearer token, if they ask
    LAB_CONTROL                                                 socket of `python -m lab up`
"""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, NoReturn

import geventhttpclient.client
from locust import FastHttpUser, constant, events, task
from locust.env import Environment
from locust.event import EventHook
from locust.runners import MasterRunner, WorkerRunner
from locust.web import WebUI

# Locust puts this file's folder on the path, where `statistics` would be the package's own.
_HERE = Path(__file__).resolve().parent
sys.path[:] = [str(_HERE.parent) if Path(each).resolve() == _HERE else each for each in sys.path]

from loadgen.hosts import is_loopback  # noqa: E402 - importable only from here on
from loadgen.locust_pages.access import (  # noqa: E402 - importable only from here on
    LOOPBACK,
    Guard,
    complaint_about_door,
)
from loadgen.locust_pages.login import install_login  # noqa: E402
from loadgen.locust_pages.page import install_page  # noqa: E402
from loadgen.locust_pages.settings import PageSettings, read_settings  # noqa: E402
from loadgen.locust_pages.timeline import Timeline  # noqa: E402
from loadgen.locust_pages.watch import Watch  # noqa: E402
from loadgen.locust_replies import Judge, is_whole, label_of  # noqa: E402
from loadgen.outcomes import ERROR_CLASS, JsonFieldRule  # noqa: E402

_JUDGE = Judge(JsonFieldRule(json_field="source", classes=("fresh", "stale")))
_REPORT = "chaos_timeline"  # of a worker to its master
_BAD_USAGE = 2

# geventhttpclient sends an idempotent request anew, unseen, when a connection closes before the
# reply: what a service refuses to answer would count less often here than there.
geventhttpclient.client.IDEMPOTENT_METHODS = frozenset()


class _ConvertingUser(FastHttpUser):
    abstract = True
    wait_time = constant(0.1)
    network_timeout = 15.0  # above the front's own 10 s for a raw call
    connection_timeout = 5.0
    caller: ClassVar[str]
    path: ClassVar[str]

    @task
    def convert(self) -> None:
        """Convert 100 dollars and name the request by its outcome."""
        with self.client.get(self.path, catch_response=True, allow_redirects=False) as reply:
            failure = reply.request_meta["exception"]
            why = "" if is_whole(failure) else str(failure) or type(failure).__name__
            ending = _JUDGE.ending_of(reply.request_meta["response"], why)
            reply.request_meta["name"] = f"/convert {self.caller} -> {label_of(ending)}"
            reply.request_meta["context"] = {"outcome": ending.outcome}
            if ending.outcome == ERROR_CLASS:
                reply.failure(ending.error)
            else:
                reply.success()


class ResilientUser(_ConvertingUser):
    """Asks for the call to rates that time-outs, retries and a breaker protect."""

    caller = "resilient"
    path = "/convert?from=USD&amount=100"


class RawUser(_ConvertingUser):
    """Asks for the plain call to rates."""

    caller = "raw"
    path = "/convert?from=USD&amount=100&raw=true"


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
        start_time: float, response_time: float, context: dict[str, str], **_: object
    ) -> None:
        timeline.add(start_time + response_time / 1000, context["outcome"], response_time)

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


_listen(events.init_command_line_parser, _set_safe_defaults)
_listen(events.init, _install)
