"""A service's own fault injector, as the lab asks it and as it answers."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import httpx
from pydantic.alias_generators import to_camel

from chaos.document import ChaosDocument
from lab.control import Answer, NoAnswerError, ask
from lab.errors import NoValidData
from lab.results.touches import Touches

ANSWER_S = 3.0
LOOK_S = 1.0  # to learn of faults that others put on; whoever is too busy to tell is let be
LOOKS = 4  # while a fault is on: a worker that has come up late shows as well
VOLLEYS = 4
VOLLEY = 6  # connections at once, then as many one by one: a port is not shared out evenly
# The fields of a document that /chaos takes, but for its lease, which goes up and down.
FIELDS = tuple(to_camel(each) for each in ChaosDocument.model_fields if each != "ttl_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What an injector says of itself.

    `instance` and `applied` are None, and counts are 0, where an injector of another make does not
    tell them.
    """

    is_on: bool
    fault: Mapping[str, object]  # the fields of what is on; empty if nothing is
    instance: str | None  # which injector has answered
    applied: int | None  # how many faults it has been given so far
    touches: Touches | None


def read(answer: Answer) -> Reading:
    """Return what a reply of `/chaos` says."""
    told = answer.members()
    is_on = told.get("on") is True
    instance, applied = told.get("instance"), told.get("applied")
    return Reading(
        is_on=is_on,
        fault={name: told.get(name) for name in FIELDS} if is_on else {},
        instance=instance if isinstance(instance, str) else None,
        applied=applied if type(applied) is int else None,
        touches=_touches(told),
    )


class Injector:
    """The fault injector of one service.

    Args:
        service: its name.
        url: of the injector.
        http: to ask it with; its connection goes on where the service takes no new one.
        fresh_http: the same with a connection for each question: one that is kept leads to the same
            process for ever, and several behind one port would not show.
    """

    def __init__(
        self,
        service: str,
        url: str,
        *,
        http: httpx.AsyncClient,
        fresh_http: httpx.AsyncClient,
    ) -> None:
        self._service = service
        self._url = url
        self._http = http
        self._fresh_http = fresh_http
        self._turn = asyncio.Lock()  # no look between a fault's beginning and our note of it
        self.forget()

    def forget(self) -> None:
        """Take note that the service's process is a new one, with an injector of its own."""
        self._asked: Mapping[str, object] | None = None  # the lab's own fault, as it was told back
        self._instance: str | None = None  # which has it
        self._applied: dict[str, int] = {}  # by instance
        self._is_known_to_be_single = False
        self._put_on_meanwhile = False

    @property
    def names_its_marks(self) -> bool:
        """Whether it is known to write `X-Chaos` as `chaos` does."""
        return bool(self._applied)

    async def put_on(self, document: Mapping[str, object], *, has_effect: bool = True) -> None:
        """Put a fault on in place of the one before.

        One that has no effect takes that off, and counts as one that touches nothing.

        Raises:
            NoValidData: the injector refuses the document, does not answer, or is one of several.
        """
        await self.check_single()
        async with self._turn:
            reading = await self._switch_on(document, has_effect=has_effect)
            self._put_on_meanwhile |= self._was_given_more(reading, by_us=int(reading.is_on))
            if reading.instance is None:  # of another make, which may not tell all in this reply
                reading = await self._read(ANSWER_S) or reading
            self._asked, self._instance = reading.fault, reading.instance
        if reading.instance is None:
            await self._check_says_the_same()

    async def renew(self, ttl_s: float, *, within_s: float) -> bool:
        """Let the fault last so long from now; False if the injector says that none is on.

        Raises:
            NoAnswerError: it says nothing.
        """
        lease: dict[str, object] = {"ttlS": ttl_s}
        answer = await ask(self._http, "PATCH", self._url, within_s=within_s, document=lease)
        return answer.status != httpx.codes.CONFLICT

    async def take_off(self) -> None:
        """Clear the fault; where the service cannot be reached the lease ends it instead."""
        async with self._turn:
            try:
                await ask(self._http, "DELETE", self._url, within_s=ANSWER_S)
            except NoAnswerError:
                return  # what it then still has is the lab's own
            self._asked = None

    async def is_off(self) -> bool:
        """Tell whether it answers that nothing is on."""
        reading = await self._read(ANSWER_S)
        return reading is not None and not reading.is_on

    async def is_active(self) -> bool:
        """Tell whether it answers that what the lab has asked for is on."""
        reading = await self._read(ANSWER_S)
        return reading is not None and reading.fault == (self._asked or {})

    async def touches(self) -> Touches | None:
        """Return what the fault has done since it was put on; None if that is not told."""
        if self._asked is None:
            return None
        if not self._asked:  # without effect
            return Touches(touched=0)
        reading = await self._read(ANSWER_S)
        return reading.touches if reading is not None and reading.is_on else None

    async def foreign_faults(self) -> str:
        """Return what others have done to the service since the last look; empty: nothing.

        A service that does not answer in LOOK_S is let be.

        Raises:
            NoValidData: the lab's fault is at one injector of several.
        """
        async with self._turn:
            for _ in range(LOOKS if self._asked else 1):
                reading = await self._read_anew(LOOK_S)
                if reading is None:
                    return ""
                if self._asked and reading.instance != self._instance:
                    raise self._several()
                if found := self._foreign(reading):
                    return found
            return ""

    def _foreign(self, reading: Reading) -> str:
        """Return what a reading has beside what the lab has done itself."""
        was_given_more = self._was_given_more(reading) or self._put_on_meanwhile
        self._put_on_meanwhile = False
        if reading.is_on and reading.fault != (self._asked or {}):
            return f"somebody else's fault is on at {self._service} ({_in_words(reading)})"
        if was_given_more:
            return f"somebody else has put a fault on at {self._service}"
        return ""

    async def check_single(self) -> None:
        """Make sure that the service has one injector, as far as many questions can tell.

        Raises:
            NoValidData: there are several, each with faults of its own.
        """
        if self._is_known_to_be_single:
            return
        instances: set[str] = set()
        for _ in range(VOLLEYS):
            together = await asyncio.gather(*(self._read_anew(LOOK_S) for _ in range(VOLLEY)))
            for reading in together:
                # One by one as well: of connections that come together one process may take all.
                again = reading and await self._read_anew(LOOK_S)
                instances |= {each.instance for each in (reading, again) if each and each.instance}
            if len(instances) > 1:
                raise self._several()
            if not any(together):
                return
        self._is_known_to_be_single = True

    async def _check_says_the_same(self) -> None:
        """Make sure that an injector that has no name has the fault whoever answers."""
        for _ in range(VOLLEYS * VOLLEY):
            reading = await self._read_anew(ANSWER_S)
            if reading is not None and reading.fault != self._asked:
                raise self._several()

    def _several(self) -> NoValidData:
        return NoValidData(
            f"several processes answer for {self._service}, each with a fault injector of its own: "
            "a fault reaches one of them; run it with one worker, or start each worker as a "
            "service of its own"
        )

    async def _switch_on(self, document: Mapping[str, object], *, has_effect: bool) -> Reading:
        try:
            answer = await ask(
                self._http, "POST", self._url, within_s=ANSWER_S, document=dict(document)
            )
        except NoAnswerError as failure:
            raise NoValidData(
                f"the fault injector at {self._url} does not answer: {failure}"
            ) from failure
        if not answer.is_ok:
            why = answer.body[:300].decode(errors="replace")
            raise NoValidData(f"the fault injector at {self._url} refused {dict(document)}: {why}")
        reading = read(answer)
        if has_effect and not reading.is_on:
            raise NoValidData(
                f"the fault {dict(document)} has no effect, says {self._url}; give it one"
            )
        return reading

    def _was_given_more(self, reading: Reading, *, by_us: int = 0) -> bool:
        """Tell whether the injector has had more faults than the lab knows of, and note all."""
        if reading.instance is None or reading.applied is None:
            return False
        known = self._applied.get(reading.instance, reading.applied - by_us)
        self._applied[reading.instance] = reading.applied
        return reading.applied != known + by_us

    async def _read(self, within_s: float) -> Reading | None:
        return await _read(self._http, self._url, within_s)

    async def _read_anew(self, within_s: float) -> Reading | None:
        return await _read(self._fresh_http, self._url, within_s)


async def _read(http: httpx.AsyncClient, url: str, within_s: float) -> Reading | None:
    try:
        answer = await ask(http, "GET", url, within_s=within_s)
    except NoAnswerError:
        return None
    return read(answer) if answer.is_ok else None


def _touches(told: Mapping[str, object]) -> Touches | None:
    touched, met, hits = told.get("touched"), told.get("arrived"), told.get("hits")
    if type(touched) is not int:
        return None
    if type(met) is not int or not isinstance(hits, dict):
        return Touches(touched=touched)
    without_dice = hits.get("failFirst", 0)
    return Touches(touched=touched, hit=hits.get("failure", 0), met=met - without_dice)


def _in_words(reading: Reading) -> str:
    shown = (name for name in FIELDS if reading.fault[name] and name not in {"status", "seed"})
    return ", ".join(f"{name}={reading.fault[name]}" for name in shown) or "of an unknown kind"
