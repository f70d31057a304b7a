"""What a fault can be asked to do, and how the request for it is read."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from chaos.request_body import InvalidDocumentError, loads, read_object, without_duplicates

_Milliseconds = Annotated[float, Field(ge=0, le=600_000)]
LeaseSeconds = Annotated[float, Field(gt=0, le=86_400)]
BodyFault = Literal["drip", "truncate", "garbage", "empty"]
_MATCH_PREFIX = "match."


class _Document(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        allow_inf_nan=False,
    )


class Match(_Document):
    """Which requests a fault concerns: those that satisfy each field that is given."""

    path: str | None = Field(
        default=None,
        pattern="^/",
        max_length=1000,
        description="the beginning of the path",
        examples=["/rates"],
    )
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] | None = Field(
        default=None, examples=["GET"]
    )

    def covers(self, method: str, path: str) -> bool:
        """Tell whether a request is concerned; *path* is decoded and compared by character.

        `/rates` covers `/rates`, `/rates/USD` and `/ratesheet`; `/rates/` only the second.
        """
        return path.startswith(self.path or "") and self.method in {None, method}


class ChaosDocument(_Document):
    """A fault. On the wire the names are in camel case; every field may be left out.

    `failure`, `delay_ms`, `jitter_ms`, `fail_first`, `body` and `hang` do something; the others
    say how, to whom and when. All that is asked for happens to a reply, in this order: the delay,
    the failure in place of the reply, the body (a failed reply has one too).

    `hang` accepts the request and says nothing until the fault is off or the caller leaves; it
    happens to each request and leaves no room for anything else.

    `flap_s` has the fault on for so many seconds from the moment it was put on, off for as many,
    and so on; renewing the lease does not move the beat.

    `body` concerns replies that have one (not those to HEAD, 204, 304, or of length 0):

        drip      one byte each 0.1 s; after 30 s the rest at once
        truncate  the head promises all of it, the connection is closed after half; where the head
                  names no length, after half of the first chunk
        garbage   as many bytes as there were, no text of any encoding and no JSON
        empty     a length of 0 under the same status and type
    """

    EFFECTS: ClassVar = ("failure", "delay_ms", "jitter_ms", "fail_first", "body", "hang")

    failure: float = Field(
        default=0, ge=0, le=1, description="share of replies that fail", examples=[0.3]
    )
    delay_ms: _Milliseconds = Field(
        default=0,
        description="each reply comes so much later, failed ones included",
        examples=[500],
    )
    jitter_ms: _Milliseconds = Field(
        default=0,
        description="the delay varies uniformly by plus or minus this, never below 0",
        examples=[50],
    )
    fail_first: int = Field(
        default=0,
        ge=0,
        le=1_000_000_000,
        description="the first requests fail, then those that `failure` picks",
        examples=[3],
    )
    body: BodyFault | None = Field(
        default=None, description="what happens to the body of each reply", examples=["truncate"]
    )
    hang: bool = Field(default=False, description="no reply comes at all", examples=[True])
    status: int = Field(
        default=500, ge=400, le=599, description="of a failed reply", examples=[503]
    )
    retry_after_s: int | None = Field(
        default=None, ge=0, le=86_400, description="header of a failed reply", examples=[2]
    )
    flap_s: float | None = Field(
        default=None,
        ge=0.01,
        le=86_400,
        description="so long the fault is on, then as long off, and so on",
        examples=[2],
    )
    match: Match | None = Field(
        default=None,
        description="the requests that are hit, by `path` (a prefix) and `method`; all without it",
        examples=[{"path": "/rates", "method": "GET"}],
    )
    seed: int | None = Field(
        default=None,
        ge=0,
        lt=2**63,
        description="of the fault's randomness; picked for you without it",
        examples=[7],
    )
    ttl_s: LeaseSeconds | None = None  # the fault ends by itself after this; None: it stays

    @property
    def has_effect(self) -> bool:
        """Whether any request can be touched at all."""
        return any(getattr(self, effect) for effect in self.EFFECTS)

    def concerns(self, method: str, path: str) -> bool:
        """Tell whether a request is among those that this fault is for."""
        return self.match is None or self.match.covers(method, path)


class Renewal(_Document):
    """A longer lease for the fault that is on."""

    ttl_s: LeaseSeconds  # from now


def read_document(query: bytes, body: bytes) -> ChaosDocument:
    """Return the fault asked for by *query* or by the JSON *body*.

    Raises:
        InvalidDocumentError: an unknown field, a wrong type, a value out of range, a field
            given twice, malformed JSON, or both a query and a body.
    """
    return _validated(ChaosDocument, _members(query, body))


def read_renewal(query: bytes, body: bytes) -> Renewal:
    """Return the lease asked for; `InvalidDocumentError` as for `read_document`."""
    return _validated(Renewal, _members(query, body))


_Kind = TypeVar("_Kind", ChaosDocument, Renewal)


def _validated(kind: type[_Kind], members: Mapping[str, object]) -> _Kind:
    try:
        return kind.model_validate(members, by_alias=True, by_name=False)
    except ValidationError as error:
        raise InvalidDocumentError(
            {".".join(map(str, each["loc"])): each["msg"] for each in error.errors()}
        ) from error


def _members(query: bytes, body: bytes) -> Mapping[str, object]:
    if query and body:
        raise InvalidDocumentError({"body": "give the fields in the query or here, not in both"})
    return read_object(body) if body else _from_query(query)


def _from_query(query: bytes) -> dict[str, object]:
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    return _folded(without_duplicates([(name, _value(text)) for name, text in pairs]))


def _folded(members: dict[str, object]) -> dict[str, object]:
    """Turn `match.path` and the like into `match: {path}`: a query has no nesting of its own."""
    inner = {name for name in members if name.startswith(_MATCH_PREFIX)}
    if not inner:
        return members
    if "match" in members:
        raise InvalidDocumentError({"match": "given more than once"})
    match = {name.removeprefix(_MATCH_PREFIX): members[name] for name in inner}
    return {name: members[name] for name in members if name not in inner} | {"match": match}


def _value(text: str) -> object:
    """Read *text* as JSON would, so that both forms obey the same types; other text stays text."""
    try:
        return loads(text)
    except (ValueError, RecursionError):
        return text
