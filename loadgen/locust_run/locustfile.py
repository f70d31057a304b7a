"""Executed by the Locust processes of a run: takes tickets, sends, and hands the samples over.

The master reads the load from `--load-file` and sends it to its workers with Locust's own start
message, so that a worker on another machine needs nothing but this package:

    locust -f loadgen/locust_run/locustfile.py --worker --master-host ADDRESS

Each worker sends its share of the requests, exactly, and then its samples to the master.
"""

import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gevent  # type: ignore[import-untyped]
import gevent.os  # type: ignore[import-untyped]
import geventhttpclient.client
import locust.runners
from geventhttpclient.response import HTTPConnectionClosed
from locust import FastHttpUser, constant, events, task
from locust.env import Environment
from locust.event import EventHook
from locust.exception import StopUser
from locust.runners import MasterRunner, WorkerRunner

sys.path.append(str(Path(__file__).resolve().parents[2]))

from loadgen.locust_replies import ERROR, Outcome, outcome_of
from loadgen.locust_run.columns import Columns
from loadgen.locust_run.load import LocustLoad, share
from loadgen.locust_run.master import DONE, FAILED, SAMPLES, Master

SAMPLES_A_MESSAGE = 10_000
REPORT_EVERY_S = 0.5

# geventhttpclient sends an idempotent request anew, unseen, when a connection closes before the
# reply: the server would count more requests than were asked for.
geventhttpclient.client.IDEMPOTENT_METHODS = frozenset()
locust.runners.WORKER_REPORT_INTERVAL = REPORT_EVERY_S


class _Share:
    """This worker's part of the load: the tickets left and the samples so far."""

    def __init__(self, load: LocustLoad, requests: int) -> None:
        self.load = load
        self.requests = requests
        self.samples = Columns()
        self.began_wall_s = time.time()
        self._began_s = time.perf_counter()
        self._tickets = iter(range(requests))

    def take_ticket(self) -> None:
        """Take the right to send one request; stop the user if none is left."""
        if next(self._tickets, None) is None:
            raise StopUser

    def now_s(self) -> float:
        """Return the time since this worker began."""
        return time.perf_counter() - self._began_s


_shares: list[_Share] = []  # of this worker: none before the start, then one


class ExperimentUser(FastHttpUser):
    """Sends the load's request for as long as there are tickets."""

    host = "http://load"  # Locust wants one; the load's address is absolute
    wait_time = constant(0)
    concurrency = (
        1_000  # of connections, never of requests: a slot lost in a time-out costs nothing
    )

    def on_start(self) -> None:
        """Keep no cookies: each request stands for itself."""
        self.client.client.cookiejar = None

    @task
    def send(self) -> None:
        """Send one request and keep its sample."""
        own = _shares[0]
        own.take_ticket()
        sent_s = own.now_s()
        with gevent.Timeout(own.load.timeout_s):
            reply = self._request(own.load)
        finished_s = own.now_s()
        with reply:
            status, outcome = _judge(reply, own.load)
            if outcome.name == ERROR:
                reply.failure(outcome.error)
            else:
                reply.success()
        own.samples.add(
            sent_s=sent_s,
            finished_s=finished_s,
            outcome=outcome.name,
            status=status,
            error=outcome.error,
        )
        if len(own.samples) == own.requests:
            _hand_over(self.environment.runner, own)

    def _request(self, load: LocustLoad) -> Any:  # noqa: ANN401 - Locust's reply has no type
        return self.client.request(
            load.method,
            load.url,
            name="request",
            data=load.body,
            headers=dict(load.headers),
            catch_response=True,
            allow_redirects=False,
        )


def _judge(reply: Any, load: LocustLoad) -> tuple[int | None, Outcome]:  # noqa: ANN401 - as above
    response, failure = reply.request_meta["response"], reply.request_meta["exception"]
    status = response.status_code or None
    outcome = outcome_of(
        status=status,
        body=b"" if failure else response.content or b"",
        failure=_words(failure, load.timeout_s),
        field=load.json_field,
        classes=load.classes,
    )
    return status, outcome


def _words(failure: object, timeout_s: float) -> str:
    """Return why there is no whole reply, in words that do not vary from request to request."""
    match failure:
        case None:
            return ""
        case gevent.Timeout() | TimeoutError():
            return f"no complete reply in {timeout_s:g} s"
        case HTTPConnectionClosed():
            return "closed without a reply"
        case OSError(strerror=str(why)):
            return why
    return f"{type(failure).__name__}: {failure}"[:200]


def _hand_over(runner: WorkerRunner, own: _Share) -> None:
    for chunk in own.samples.chunks(SAMPLES_A_MESSAGE):
        document = {"samples": chunk.to_document(), "began_s": own.began_wall_s}
        runner.send_message(SAMPLES, document)
    runner.send_message(DONE)


def _be_worker(environment: Environment, runner: WorkerRunner) -> None:
    def begin(**_: object) -> None:
        options: Any = environment.parsed_options
        load = LocustLoad.from_document(options.load_document)
        try:
            requests = share(load.requests, parts=options.expect_workers, index=runner.worker_index)
        except ValueError:
            workers = f"{options.expect_workers} workers were expected and one more came"
            runner.send_message(FAILED, {"error": workers})
            requests = 0
        ExperimentUser.network_timeout = ExperimentUser.connection_timeout = load.timeout_s
        _shares[:] = [_Share(load, requests)]
        if requests == 0:
            runner.send_message(DONE)

    def fail(exception: Exception, **_: object) -> None:
        runner.send_message(FAILED, {"error": f"a user failed: {exception!r}"})

    _listen(events.test_start, begin)
    _listen(events.user_error, fail)


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--load-file", help="the load as JSON, for the master")
    parser.add_argument("--results-fd", type=int, help="where the master writes its results")
    parser.add_argument(
        "--until-stdin-ends",
        action="store_true",
        help="end at once when the standard input does: whoever started this process is gone",
    )


def _begin(environment: Environment, runner: object, **_: object) -> None:
    options: Any = environment.parsed_options
    if options.until_stdin_ends:
        gevent.spawn(_end_with_stdin)
    if isinstance(runner, MasterRunner):
        master = Master(environment, runner)
        _listen(events.test_start, lambda **_: runner.greenlet.spawn(master.accompany))
    elif isinstance(runner, WorkerRunner):
        _be_worker(environment, runner)
    else:
        sys.exit("this Locust file needs --master or --worker; ad hoc: loadgen/locustfile.py")


def _end_with_stdin() -> None:
    gevent.os.make_nonblocking(0)
    while gevent.os.nb_read(0, 1):
        pass
    os._exit(1)


def _listen(hook: EventHook, listener: Callable[..., object]) -> None:
    hook.add_listener(listener)  # type: ignore[no-untyped-call]


_listen(events.init_command_line_parser, _add_options)
_listen(events.init, _begin)
