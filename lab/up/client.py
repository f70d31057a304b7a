"""Talks to a running lab over its unix socket."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from lab.errors import NoValidData, UsageError
from lab.up.sockets import find

ANSWER_S = 60.0  # a service may take long to start
STATUS_S = 10.0


class LabClient:
    """`with LabClient(name) as lab`: asks the lab that keeps the system called *name* up.

    Each method returns the lab's document and raises `UsageError` for what it refuses and
    `NoValidData` for what went wrong.
    """

    def __init__(self, name: str | None) -> None:
        self._socket = find(name)
        self._http = httpx.Client(
            # Without `verify` it would load certificates for 50 ms that a socket has no use for.
            transport=httpx.HTTPTransport(uds=str(self._socket), verify=False),
            base_url="http://lab",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connection."""
        self._http.close()

    def status(self) -> dict[str, Any]:
        """Return what is up and which faults are on."""
        return self._ask("GET", "/status", within_s=STATUS_S)

    def put_on(self, document: Mapping[str, object]) -> dict[str, Any]:
        """Put a fault on and return it."""
        return self._ask("POST", "/faults", document=document)

    def take_off(self, fault_id: str) -> dict[str, Any]:
        """Take a fault off and return it."""
        return self._ask("DELETE", f"/faults/{fault_id}")

    def do(self, verb: str, service: str) -> dict[str, Any]:
        """Do *verb* to a service and return the service."""
        return self._ask("POST", f"/services/{_part(service)}/{verb}")

    def log(self, service: str, from_byte: int | None = None) -> dict[str, Any]:
        """Return a part of a service's log and where it ends."""
        query = "" if from_byte is None else f"?from={from_byte}"
        return self._ask("GET", f"/services/{_part(service)}/logs{query}", within_s=STATUS_S)

    def _ask(
        self,
        method: str,
        path: str,
        *,
        document: Mapping[str, object] | None = None,
        within_s: float = ANSWER_S,
    ) -> dict[str, Any]:
        name = self._socket.stem
        try:
            answer = self._http.request(method, path, json=document, timeout=within_s)
            body = answer.json()
        except httpx.TimeoutException:
            raise NoValidData(
                f"the lab of {name} did not answer in {within_s:g} s; look at its terminal"
            ) from None
        except (httpx.HTTPError, json.JSONDecodeError) as failure:
            raise NoValidData(
                f"the lab of {name} has gone away ({failure}); start it again"
            ) from None
        if answer.is_success:
            return dict(body)
        why = body.get("detail", body["title"])
        if answer.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
            raise UsageError(why)
        raise NoValidData(why)


def _part(name: str) -> str:
    """Return *name* fit for one part of a path."""
    return quote(name, safe="")
