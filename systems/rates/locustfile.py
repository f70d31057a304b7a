"""Ad-hoc load on the converter, from a browser, with a Chaos page beside it.

    locust -f systems/rates/locustfile.py --host http://127.0.0.1:5400

A resilient and a raw user; the class picker of the web UI chooses them and their weights. Each
request is one row of the statistics, named by what became of it: `/convert resilient -> stale`.

The web UI binds 127.0.0.1 unless `--web-host` says otherwise, which needs a password in
LOCUST_WEB_PASSWORD. Its page `/chaos/` works the faults of the running system:

    LAB_CHAOS_URLS='{"rates": "http://127.0.0.1:5401/chaos"}'   the services' fault injectors
    LAB_CHAOS_TOKEN                                             their bearer token, if they ask
    LAB_CONTROL                                                 socket of `python -m lab up`
"""

import sys
from pathlib import Path
from typing import ClassVar

import geventhttpclient.client
from locust import FastHttpUser, constant, task

# Locust puts this file's folder on the path, and not the project's.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab.up.locust_pages.web_ui import add_chaos_page
from loadgen.locust_replies import Judge, is_whole, label_of
from loadgen.outcomes import ERROR_CLASS, JsonFieldRule

_JUDGE = Judge(JsonFieldRule(json_field="source", classes=("fresh", "stale")))

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


add_chaos_page()
