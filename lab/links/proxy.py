"""A place of the lab's own on a link: a `fault_proxy` process, asked over its control."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import httpx

from lab.control import Answer, NoAnswerError, ask
from lab.errors import NoValidData
from lab.links.place import ProxyState
from lab.results.touches import Touches

ANSWER_S = 3.0
LOOK_S = 1.0
_AT_ONCE_S = 0.001  # a reset hits the connections that stand when it is put on


class ProxyPlace:
    """One proxy that runs; its faults end by themselves when their leases do.

    Args:
        http: to ask it with.
        port: where the caller connects, on loopback.
        control_port: where faults are asked for, on loopback.
    """

    def __init__(self, http: httpx.AsyncClient, *, port: int, control_port: int) -> None:
        self.port = port
        self._http = http
        self._control = f"http://127.0.0.1:{control_port}"
        self._own: set[str] = set()  # ids of the faults that the lab has put on
        self._applied = 0  # how many faults are known to have been put on, by whomever
        self._turn = asyncio.Lock()  # no look between a fault's beginning and our note of it

    async def put_on(self, document: Mapping[str, object]) -> str:
        """Put a fault on; `NoValidData` if the proxy refuses it or does not answer.

        Where connects are refused, connections that stand are reset: else a caller that keeps its
        connections would notice nothing.
        """
        fault_id = await self._post(document)
        if document["kind"] == "refuse":
            await self._post({"kind": "reset", "ttlS": _AT_ONCE_S})
        return fault_id

    async def _post(self, document: Mapping[str, object]) -> str:
        async with self._turn:
            try:
                answer = await self._ask("POST", "/faults", dict(document))
            except NoAnswerError as failure:
                raise NoValidData(
                    f"the proxy at {self._control} does not answer: {failure}"
                ) from None
            if answer.status != HTTPStatus.CREATED:
                why = answer.body[:300].decode(errors="replace")
                raise NoValidData(f"the proxy at {self._control} refused {dict(document)}: {why}")
            fault_id = str(answer.field("id"))
            self._own.add(fault_id)
            self._applied += 1
            return fault_id

    async def renew(self, fault_id: str, ttl_s: float) -> bool:
        """Renew its lease; False if it has run out."""
        try:
            answer = await self._ask("PATCH", f"/faults/{fault_id}", {"ttlS": ttl_s})
        except NoAnswerError:
            return True  # it is not known to have run out
        return answer.status != HTTPStatus.NOT_FOUND

    async def take_off(self, fault_id: str) -> None:
        """Take it off; where the proxy does not answer the lease ends it instead."""
        try:
            await self._ask("DELETE", f"/faults/{fault_id}")
        except NoAnswerError:
            return

    async def is_on(self, fault_id: str) -> bool:
        """Tell whether the proxy answers that it is on."""
        return fault_id in [each["id"] for each in await self._faults() or ()]

    async def is_clear(self) -> bool:
        """Tell whether the proxy answers that nothing is on."""
        return await self._faults() == []

    async def touches(self, fault_id: str) -> Touches | None:
        """Return its counts; None for one that refuses connections, which nobody sees."""
        for each in await self._faults() or ():
            if each["id"] == fault_id and each["touched"] is not None:
                standing = each.get("standing", {"touched": 0, "arrived": 0})
                return Touches(
                    touched=each["touched"],
                    hit=each["touched"],
                    met=each["arrived"],
                    standing_touched=standing["touched"],
                    standing_met=standing["arrived"],
                )
        return None

    async def foreign_faults(self, where: str) -> str:
        """Compare what is on, and how many faults have been put on, with what the lab asked for."""
        async with self._turn:
            try:
                answer = await self._ask("GET", "/faults", within_s=LOOK_S)
            except NoAnswerError:
                return ""
            told: Mapping[str, Any] = answer.members()
            known, self._applied = self._applied, told["applied"]
        strange = [each["kind"] for each in told["faults"] if each["id"] not in self._own]
        if strange:
            return f"somebody else's fault is on {where} ({', '.join(strange)})"
        return f"somebody else has put a fault on {where}" if told["applied"] != known else ""

    async def connections(self) -> int | None:
        """Return how many have come since it started."""
        try:
            counts = (await self._ask("GET", "/stats")).field("connections")
        except NoAnswerError:
            return None
        return counts["total"] if isinstance(counts, dict) else None

    async def state(self) -> ProxyState | None:
        """Return what it has told of itself since it started; None if it does not answer."""
        try:
            told: Mapping[str, Any] = (await self._ask("GET", "/stats")).members()
        except NoAnswerError:
            return None
        if "stalledS" not in told:
            return None
        return ProxyState(stalled_s=told["stalledS"], own_failures=told["ownFailures"])

    async def _faults(self) -> list[dict[str, Any]] | None:
        try:
            faults = (await self._ask("GET", "/faults")).field("faults")
        except NoAnswerError:
            return None
        return faults if isinstance(faults, list) else None

    async def _ask(
        self,
        method: str,
        path: str,
        document: dict[str, object] | None = None,
        *,
        within_s: float = ANSWER_S,
    ) -> Answer:
        url = self._control + path
        return await ask(self._http, method, url, within_s=within_s, document=document)
