"""A service's `/chaos`: its fault is held under a lease for as long as this process lives."""

import threading
import time
from collections.abc import Callable, Mapping

from lab.up.locust_pages.asking import Answer, NoAnswerError, ask

LEASE_S = 5.0  # a fault ends by itself this long after its holder died
ANSWER_S = 1.5  # the service is asked once a second: a hung one must not outlast its lease
_BOOKKEEPING = frozenset(
    {"on", "active", "ttlS", "leftS", "arrived", "touched", "hits", "instance", "applied", "seed"}
)
_WORDED = frozenset({"failure", "status", "delayMs", "jitterMs", "failFirst", "retryAfterS"})


class RefusedError(Exception):
    """The service understood the request and did not carry it out; the message says why."""


class Injector:
    """The fault of one service, as last seen, and whether this process holds it.

    Args:
        name: of the service.
        url: of its injector.
        token: bearer token, where the injector asks for one.
        clock: wall clock, in seconds.

    Requests to one injector follow one another, so that an early reply is not taken for the
    latest state.
    """

    def __init__(
        self, name: str, url: str, *, token: str | None, clock: Callable[[], float] = time.time
    ) -> None:
        self.name = name
        self.problem = ""  # why it did not answer the last time; empty if it did
        self.held = False  # whether this process renews the lease
        self.since_s: float | None = None  # when the fault was first seen on; None: it is off
        self.document: Mapping[str, object] = {}  # the injector's last reply
        self._url = url
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._clock = clock
        self._ends_at_s: float | None = None  # None: without a lease
        self._in_turn = threading.Lock()  # cooperative: Locust patches it

    def put_on(self, document: Mapping[str, object]) -> None:
        """Put a fault on in place of the one before, and hold its lease from now on.

        Raises:
            RefusedError: the document is wrong or without effect; what was on stays on or, for
                one without effect, is off.
            NoAnswerError: the service does not answer.
        """
        with self._in_turn:
            answer = self._ask("POST", dict(document) | {"ttlS": LEASE_S})
            if not answer.is_ok:
                raise RefusedError(f"{self.name} refused the fault: {answer.complaint}")
            self._note(answer)
            self.held = self._is_on_now()
        if not self.held:
            raise RefusedError("this fault touches no reply; give it a share or a delay above 0")

    def take_off(self) -> None:
        """Let the lease go and end the fault.

        Raises:
            RefusedError: the injector will not take it off.
            NoAnswerError: the service does not answer; the fault ends with its lease.
        """
        self.held = False
        with self._in_turn:
            answer = self._ask("DELETE")
            if not answer.is_ok:
                raise RefusedError(f"{self.name} kept the fault: {answer.complaint}")
            self._note(answer)

    def refresh(self) -> None:
        """Look at the fault; renew its lease if it is held. Never raises for a sick service."""
        with self._in_turn:
            try:
                answer = self._ask("PATCH", {"ttlS": LEASE_S}) if self.held else self._ask("GET")
                if not answer.is_ok and self.held:  # ended elsewhere, or the service is a new one
                    self.held = False
                    answer = self._ask("GET")
            except NoAnswerError as failure:
                self.problem = str(failure)
                self._forget_if_over()
                return
            if answer.is_ok:
                self._note(answer)
            else:
                self.problem = f"{self.name} does not tell its fault: {answer.complaint}"

    @property
    def left_s(self) -> float | None:
        """How long the lease still runs; None without a fault or without a lease."""
        if self.since_s is None or self._ends_at_s is None:
            return None
        return max(0.0, self._ends_at_s - self._clock())

    def _ask(self, method: str, document: Mapping[str, object] | None = None) -> Answer:
        return ask(method, self._url, within_s=ANSWER_S, document=document, headers=self._headers)

    def _note(self, answer: Answer) -> None:
        self.problem, self.document = "", answer.document
        left_s = answer.document.get("leftS")
        now_s = self._clock()
        self._ends_at_s = now_s + left_s if isinstance(left_s, int | float) else None
        if not self._is_on_now():
            self.since_s = None
        elif self.since_s is None:
            self.since_s = now_s

    def _is_on_now(self) -> bool:
        return self.document.get("on") is True

    def _forget_if_over(self) -> None:
        if self.left_s == 0:
            self.since_s = None
            self.held = False


def describe(document: Mapping[str, object]) -> str:
    """Return a fault in a few words: `30 % replies 500, 500 ms delay`."""
    failure, delay = _number(document, "failure"), _number(document, "delayMs")
    jitter, first = _number(document, "jitterMs"), _number(document, "failFirst")
    status = document.get("status", 500)
    parts = [
        f"{failure * 100:.10g} % replies {status}" if failure else "",
        f"{delay:g} ms delay" if delay else "",
        f"±{jitter:g} ms jitter" if jitter else "",
        f"first {first:g} replies {status}" if first else "",
        *(
            f"{name} {value}"
            for name, value in document.items()
            if value and name not in _BOOKKEEPING | _WORDED
        ),
    ]
    return ", ".join(part for part in parts if part)


def _number(document: Mapping[str, object], name: str) -> float:
    value = document.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
