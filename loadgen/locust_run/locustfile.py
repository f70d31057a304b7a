"""Executed by the Locust processes of a run: takes tickets, sends, and hands the samples over.

The master gets loads on its standard input and passes each to its workers with Locust's own start
message, so that a worker on another machine needs nothing but this package:

    locust -f loadgen/locust_run/locustfile.py --worker --master-host ADDRESS --master-port PORT

Each worker sends its share of the requests, exactly, and then its samples to the master; it stays
for the next load until the master goes.
"""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gevent  # type: ignore[import-untyped]
import geventhttpclient.client
import locust.runners
from geventhttpclient.response import HTTPConnectionClosed, HTTPParseError
from locust import FastHttpUser, constant, events, task
from locust.env import Environment
from locust.event import EventHook
from locust.exception import StopUser
from locust.runners import MasterRunner, WorkerRunner

sys.path.append(str(Path(__file__).resolve().parents[2]))

from loadgen.endings import Ending
from loadgen.failures import MALFORMED, NO_REPLY, cannot_connect, no_complete_reply, own_want
from loadgen.load import Load
from loadgen.locust_replies import is_whole
from loadgen.locust_run.master import DONE, FAILED, SAMPLES, Master, standard_input
from loadgen.locust_run.share import Share, share_of
from loadgen.outcomes import GENERATOR_ERROR
from loadgen.samples import Sample

SAMPLES_A_MESSAGE = 10_000
REPORT_EVERY_S = 0.2

# geventhttpclient sends an idempotent request anew, unseen, when a connection closes before the
# reply: the server would count more requests than were asked for.
geventhttpclient.client.IDEMPOTENT_METHODS = frozenset()
locust.runners.WORKER_REPORT_INTERVAL = REPORT_EVERY_S


_shares: list[Share] = []  # of this worker: none before the first start, then one


class ExperimentUser(FastHttpUser):
    """Sends the load's requests for as long as there are tickets."""

    host = "http://load"  # Locust wants one; the load's addresses are absolute
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
        if (ticket := own.take_ticket()) is None:
            raise StopUser
        number, body = ticket
        sent_s = own.now_s()
        with gevent.Timeout(own.load.time_outs.whole_s):
            reply = self._request(own.load, number, body)
        finished_s = own.now_s()
        with reply:
            failure = reply.request_meta["exception"]
            ending = _ending(reply.request_meta["response"], failure, own)
            if ending.error:
                reply.failure(ending.error)
            else:
                reply.success()
        if not own.load.keep_alive:
            self.client.client.close()  # whatever the server would do with the connection
        # Due when its user was free: in a closed load the moment when it was sent.
        sample = Sample(
            scheduled_s=sent_s,
            sent_s=sent_s,
            finished_s=finished_s,
            outcome=ending.outcome,
            status=ending.status,
            error=ending.error,
            request=number,
            fault=ending.fault,
        )
        if own.add(sample):
            _hand_over(self.environment.runner, own)

    def _request(self, load: Load, number: int, body: str | None) -> Any:  # noqa: ANN401 - has no type
        request = load.requests[number]
        framing = {} if load.keep_alive else {"Connection": "close"}
        return self.client.request(
            request.method,
            request.url,
            name="request",
            data=body,
            headers=dict(request.headers) | framing,
            catch_response=True,
            allow_redirects=False,
        )


def _ending(response: object, failure: object, own: Share) -> Ending:
    if isinstance(failure, OSError) and (want := own_want(failure)):
        return Ending(GENERATOR_ERROR, None, want)
    why = "" if is_whole(failure) else _words(failure, own.load.time_outs.whole_s)
    return own.judge.ending_of(response, why)


def _words(failure: object, timeout_s: float) -> str:
    """Return why there is no whole reply, in words that do not vary from request to request."""
    match failure:
        case gevent.Timeout() | TimeoutError():
            return no_complete_reply(timeout_s)
        case HTTPConnectionClosed():
            return NO_REPLY
        case HTTPParseError():
            return MALFORMED
        case ConnectionRefusedError():
            return cannot_connect(failure)
        case OSError(strerror=str(why)):
            return why
    return f"{type(failure).__name__}: {failure}"[:200]


def _hand_over(runner: WorkerRunner, own: Share) -> None:
    for chunk in own.samples.chunks(SAMPLES_A_MESSAGE):
        document = {"samples": chunk.to_document(), "began_s": own.began_wall_s}
        runner.send_message(SAMPLES, document)
    runner.send_message(DONE, {"report": own.report().to_document()})


def _be_worker(environment: Environment, runner: WorkerRunner) -> None:
    def begin(**_: object) -> None:
        options: Any = environment.parsed_options
        load = Load.from_document(options.load_document)
        ExperimentUser.network_timeout = load.time_outs.whole_s
        ExperimentUser.connection_timeout = load.time_outs.connect_s
        ExperimentUser.insecure = not load.verify_tls
        if runner.worker_index >= options.expect_workers:
            workers = f"{options.expect_workers} workers were expected and one more came"
            runner.send_message(FAILED, {"error": workers})
        own = share_of(load, place=runner.worker_index, parts=options.expect_workers)
        _shares[:] = [own]
        if own.tickets == 0:
            runner.send_message(DONE, {"report": None})
        else:
            gevent.spawn(own.watch)

    def fail(exception: Exception, **_: object) -> None:
        runner.send_message(FAILED, {"error": f"a user failed: {exception!r}"})

    _listen(events.test_start, begin)
    _listen(events.user_error, fail)


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--results-fd", type=int, help="where the master writes its results")
    parser.add_argument("--connect-s", type=int, help="how long the master waits for its workers")
    parser.add_argument(
        "--until-stdin-ends",
        action="store_true",
        help="end at once when the standard input does: whoever started this process is gone",
    )


def _begin(environment: Environment, runner: object, **_: object) -> None:
    options: Any = environment.parsed_options
    if isinstance(runner, MasterRunner):
        Master(environment, runner).serve()
    elif isinstance(runner, WorkerRunner):
        if options.until_stdin_ends:
            gevent.spawn(_end_with_stdin)
        _be_worker(environment, runner)
    else:
        sys.exit("this Locust file needs --master or --worker; ad hoc: systems/rates/locustfile.py")


def _end_with_stdin() -> None:
    for _ in standard_input():
        pass
    os._exit(1)


def _listen(hook: EventHook, listener: Callable[..., object]) -> None:
    hook.add_listener(listener)  # type: ignore[no-untyped-call]


_listen(events.init_command_line_parser, _add_options)
_listen(events.init, _begin)
