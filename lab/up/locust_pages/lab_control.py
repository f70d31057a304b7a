"""The processes of a running `python -m lab up`, through its control socket.

All that is known here of its API: `GET /status` lists the services with their states, and
`POST /services/{name}/{verb}` acts on one.
"""

from collections.abc import Mapping
from urllib.parse import quote

from lab.up.locust_pages.asking import NoAnswerError, ask
from lab.up.locust_pages.injector import RefusedError

VERBS = ("pause", "resume", "stop", "start")
_STATUS_S = 5.0  # the lab asks its services in turn, hung ones too
_ACT_S = 30.0  # a start answers once the service is ready
_ANY_HOST = "http://lab"


class LabControl:
    """What the lab says of its processes, and the way to pause and stop them."""

    def __init__(self, unix_socket: str) -> None:
        self.problem = ""  # why the lab did not answer the last time; empty if it did
        self.states: Mapping[str, str] = {}  # by service, in the lab's own words
        self._socket = unix_socket

    def refresh(self) -> None:
        """Look at the services. Never raises for a lab that is gone."""
        try:
            answer = ask("GET", f"{_ANY_HOST}/status", within_s=_STATUS_S, unix_socket=self._socket)
        except NoAnswerError as failure:
            self.problem, self.states = f"the lab is gone: {failure}", {}
            return
        self.problem = "" if answer.is_ok else f"the lab refused: {answer.complaint}"
        self.states = _states(answer.document.get("services"))

    def act(self, service: str, verb: str) -> None:
        """Pause, resume, stop or start a service.

        Raises:
            RefusedError: no such verb, or the lab does not do it.
            NoAnswerError: the lab does not answer.
        """
        if verb not in VERBS:
            raise RefusedError(f"{verb!r} is not one of {', '.join(VERBS)}")
        path = f"/services/{quote(service, safe='')}/{verb}"
        answer = ask("POST", _ANY_HOST + path, within_s=_ACT_S, unix_socket=self._socket)
        if not answer.is_ok:
            raise RefusedError(f"the lab did not {verb} {service}: {answer.complaint}")


def _states(services: object) -> Mapping[str, str]:
    """Return the states by name; the services come as objects with `name` and `state`."""
    if not isinstance(services, list):
        return {}
    return {
        str(each["name"]): str(each.get("state", "unknown"))
        for each in services
        if isinstance(each, dict) and "name" in each
    }
