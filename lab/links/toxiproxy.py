"""A place on a link in a Toxiproxy server that runs already, through its HTTP API.

    POST   /proxies                        {name, listen, upstream, enabled}: 201
    POST   /proxies/{name}                 {enabled}: 200
    GET    /proxies/{name}                 the same with toxics
    POST   /proxies/{name}/toxics          {name, type, stream, toxicity, attributes}: 200
    DELETE /proxies/{name}/toxics/{toxic}  204

Its toxics have no lease: `toxiproxy_guard` removes the proxies of a lab that was killed.
"""

import asyncio
import itertools
from collections.abc import Mapping
from urllib.parse import quote

import httpx

from lab.control import Answer, NoAnswerError, ask
from lab.errors import NoValidData
from lab.links.toxics import toxics_of

ANSWER_S = 3.0


class ToxiproxyPlace:
    """A proxy of ours in that server.

    Args:
        http: to ask it with.
        server: its URL, without a slash at its end.
        name: of the proxy.
    """

    def __init__(self, http: httpx.AsyncClient, server: str, name: str) -> None:
        self.port = 0  # known once it is made
        self._http = http
        self._server = server
        self._name = name
        self._path = f"/proxies/{quote(name, safe='')}"
        self._ids = itertools.count(1)
        self._toxics: dict[str, tuple[str, ...]] = {}  # fault -> its toxics; none: it is disabled
        self._turn = asyncio.Lock()  # no look between a fault's end and our note of it

    async def make(self, upstream: str) -> None:
        """Make the proxy, listening on a free loopback port, in front of `host:port`.

        Raises:
            NoValidData: the server does not answer, or refuses.
        """
        document: dict[str, object] = {
            "name": self._name,
            "listen": "127.0.0.1:0",
            "upstream": upstream,
            "enabled": True,
        }
        answer = await self._insist("POST", "/proxies", document)
        self.port = int(str(answer.field("listen")).rpartition(":")[2])

    async def put_on(self, document: Mapping[str, object]) -> str:
        """Add the toxics of a fault, or disable the proxy; `NoValidData` if it is refused."""
        own = {key: value for key, value in document.items() if key not in {"seed", "ttlS"}}
        toxics = toxics_of(own)
        fault_id = f"f{next(self._ids)}"
        if toxics is None:
            self._toxics[fault_id] = ()
            await self._insist("POST", self._path, {"enabled": False})
            return fault_id
        names = tuple(f"{fault_id}-{toxic.stream}" for toxic in toxics)
        self._toxics[fault_id] = names
        for name, toxic in zip(names, toxics, strict=True):
            await self._insist("POST", f"{self._path}/toxics", toxic.as_wire(name))
        return fault_id

    async def renew(self, fault_id: str, ttl_s: float) -> bool:
        """Do nothing: the faults have no lease."""
        del ttl_s
        return fault_id in self._toxics

    async def take_off(self, fault_id: str) -> None:
        """Remove a fault's toxics, or enable the proxy again once nothing disables it."""
        async with self._turn:
            names = self._toxics.pop(fault_id, None)
            if names is None:
                return
            for name in names:
                await self._try("DELETE", f"{self._path}/toxics/{name}")
            if not names and () not in self._toxics.values():
                await self._try("POST", self._path, {"enabled": True})

    async def is_on(self, fault_id: str) -> bool:
        """Tell whether the server says so."""
        names = self._toxics.get(fault_id)
        enabled, toxics = await self._state()
        if names is None or enabled is None:
            return False
        return toxics.issuperset(names) if names else not enabled

    async def is_clear(self) -> bool:
        """Tell whether the proxy is enabled and without toxics."""
        return await self._state() == (True, set())

    async def touches(self, fault_id: str) -> None:
        """Return None: the server counts nothing."""
        del fault_id

    async def foreign_faults(self, where: str) -> str:
        """Compare the proxy's toxics, and whether it is enabled, with what the lab asked for."""
        async with self._turn:
            enabled, toxics = await self._state()
            own = {name for names in self._toxics.values() for name in names}
            may_be_disabled = () in self._toxics.values()
        if enabled is None or ((enabled or may_be_disabled) and toxics <= own):
            return ""
        what = ", ".join(sorted(toxics - own)) or "the proxy is disabled"
        return f"somebody else's fault is on {where} ({what})"

    async def connections(self) -> int | None:
        """Return None: the server counts none."""
        return None

    async def state(self) -> None:
        """Return None: the server tells nothing of itself."""

    async def _state(self) -> tuple[bool | None, set[str]]:
        """Return whether the proxy is enabled, None if the server does not say; and its toxics."""
        answer = await self._try("GET", self._path)
        enabled, toxics = (answer.field("enabled"), answer.field("toxics")) if answer else (0, 0)
        if not isinstance(enabled, bool) or not isinstance(toxics, list):
            return None, set()
        return enabled, {toxic["name"] for toxic in toxics}

    async def _insist(self, method: str, path: str, document: dict[str, object]) -> Answer:
        try:
            answer = await self._ask(method, path, document)
        except NoAnswerError as failure:
            raise NoValidData(
                f"Toxiproxy at {self._server} does not answer ({failure}); start it, or remove "
                "toxiproxy from the system file"
            ) from None
        if not answer.is_ok:
            why = answer.body[:300].decode(errors="replace")
            raise NoValidData(f"Toxiproxy at {self._server} refused {document}: {why}")
        return answer

    async def _try(
        self, method: str, path: str, document: dict[str, object] | None = None
    ) -> Answer | None:
        try:
            answer = await self._ask(method, path, document)
        except NoAnswerError:
            return None
        return answer if answer.is_ok else None

    async def _ask(
        self, method: str, path: str, document: dict[str, object] | None = None
    ) -> Answer:
        url = self._server + path
        return await ask(self._http, method, url, within_s=ANSWER_S, document=document)
