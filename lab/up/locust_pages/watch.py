"""Asks the faults, the processes and the breaker once a second, whether or not a page is open."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from lab.up.locust_pages.asking import NoAnswerError, ask
from lab.up.locust_pages.injector import Injector, RefusedError, describe
from lab.up.locust_pages.lab_control import LabControl
from lab.up.locust_pages.settings import PageSettings
from lab.up.locust_pages.timeline import Timeline
from lab.up.locust_pages.windows import FaultWindows

if TYPE_CHECKING:
    from locust.env import Environment

EVERY_S = 1.0
_BREAKER_S = 1.0
_WATCHED_FOR_S = 5.0  # after the page's last request; only then is the breaker asked for
_WELL = ("running", "not ours")  # states that are no fault


class Watch:
    """All that the page shows, and the threads that keep it true (greenlets, where Locust runs).

    They run from `start` to `stop`; while they run, the leases of held faults are renewed.
    """

    def __init__(self, environment: "Environment", settings: PageSettings) -> None:
        self.timeline = Timeline()
        self.injectors = {
            name: Injector(name, url, token=settings.chaos_token)
            for name, url in settings.chaos_urls.items()
        }
        self.control = LabControl(settings.control) if settings.control else None
        self._environment = environment
        self._windows = FaultWindows()
        self._breaker: str | None = None
        self._watched_until_s = 0.0
        self._over = threading.Event()

    def start(self) -> None:
        """Begin to look."""
        looks = [each.refresh for each in self.injectors.values()]
        if self.control is not None:
            looks.append(self.control.refresh)
        for look in (*looks, self._ask_breaker):
            threading.Thread(target=self._repeat, args=(look,), daemon=True).start()

    def stop(self) -> None:
        """Look no more, and take off what is held here."""
        self._over.set()
        held = [each for each in self.injectors.values() if each.held]
        ends = [threading.Thread(target=_take_off, args=(each,)) for each in held]
        for end in ends:
            end.start()
        for end in ends:
            end.join()

    def observe(self) -> None:
        """Note which faults are on at this moment."""
        labels = [
            f"{each.name}: {describe(each.document)}"
            for each in self.injectors.values()
            if each.since_s is not None
        ]
        states = self.control.states if self.control else {}
        labels += [f"{name} {state}" for name, state in states.items() if state not in _WELL]
        self._windows.observe(time.time(), labels)

    def state(self) -> dict[str, object]:
        """Return what the page's script draws."""
        now_s = time.time()
        self._watched_until_s = now_s + _WATCHED_FOR_S
        runner = self._environment.runner
        return {
            "nowS": now_s,
            "load": None if runner is None else {"state": runner.state, "users": runner.user_count},
            "breaker": self._breaker,
            "services": [_service(each, now_s) for each in self.injectors.values()],
            "processes": _processes(self.control),
            "windows": [each.as_wire() for each in self._windows],
            "seconds": self.timeline.points(before_s=now_s),
        }

    def _repeat(self, look: Callable[[], None]) -> None:
        while not self._over.is_set():
            look()
            self.observe()
            self._over.wait(EVERY_S)

    def _ask_breaker(self) -> None:
        host = self._environment.host
        if not host or time.time() > self._watched_until_s:
            return
        try:
            answer = ask("GET", f"{host.rstrip('/')}/stats", within_s=_BREAKER_S)
        except (NoAnswerError, ValueError):  # the host is what somebody typed
            self._breaker = None
            return
        state = answer.document.get("breaker")
        self._breaker = state if answer.is_ok and isinstance(state, str) else None


def _take_off(injector: Injector) -> None:
    with suppress(NoAnswerError, RefusedError):  # the lease ends it
        injector.take_off()


def _service(injector: Injector, now_s: float) -> dict[str, object]:
    since_s = injector.since_s
    return {
        "name": injector.name,
        "on": since_s is not None,
        "words": describe(injector.document) if since_s is not None else "",
        "held": injector.held,
        "forS": None if since_s is None else now_s - since_s,
        "leftS": injector.left_s,
        "problem": injector.problem,
        "document": dict(injector.document),
    }


def _processes(control: LabControl | None) -> dict[str, object] | None:
    if control is None:
        return None
    services = [{"name": name, "state": state} for name, state in control.states.items()]
    return {"problem": control.problem, "services": services}
