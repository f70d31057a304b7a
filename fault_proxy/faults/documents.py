"""What a fault proxy can be asked to do: one small validated document a fault."""

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass

Direction = Literal["upstream", "downstream"]
_Directions = Literal["upstream", "downstream", "both"]
_Probability = Annotated[
    float,
    Field(
        strict=True,
        ge=0,
        le=1,
        description="probability with which a connection or request is hit",
        examples=[0.3],
    ),
]
_Delay = Annotated[float, Field(strict=True, ge=0, le=600_000, examples=[500])]
_Jitter = Annotated[
    float,
    Field(strict=True, ge=0, le=600_000, description="up to so much more or less", examples=[50]),
]
_Pause = Annotated[
    float,
    Field(strict=True, ge=1, le=600_000, description="the pause between pieces", examples=[10]),
]
_Bytes = Annotated[int, Field(strict=True, ge=0, le=10**12)]
_PieceBytes = Annotated[int, Field(strict=True, ge=1, le=2**20, examples=[100])]
_FailureStatus = Annotated[
    int, Field(strict=True, ge=400, le=599, description="of the failure", examples=[503])
]
_RetryAfterS = Annotated[
    int, Field(strict=True, ge=0, le=86_400, description="header of the failure", examples=[2])
]
_LeaseSeconds = Annotated[float, Field(strict=True, gt=0, le=86_400)]

_CONFIG = ConfigDict(
    extra="forbid",
    alias_generator=to_camel,
    validate_by_alias=True,
    validate_by_name=True,
    allow_inf_nan=False,
)


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Fault:
    """What all faults have in common.

    Every kind is a frozen dataclass that raises `pydantic.ValidationError` (a `ValueError`) when
    it is built with a value out of range. On the wire the names are in camel case.

    Attributes:
        figure: the field that says how much, beside the kind; None: there is none to say.
    """

    figure: ClassVar[str | None] = None

    # How `X-Chaos` and /faults call it; "" stands for its kind.
    name: Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9._-]{0,64}$")] = ""
    seed: Annotated[
        int | None,
        Field(
            strict=True,
            ge=0,
            lt=2**63,
            description="of the fault's randomness; picked for you without it, and told",
            examples=[7],
        ),
    ] = None
    ttl_s: _LeaseSeconds | None = None  # the fault ends by itself after this; None: it stays


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class ByteFault(Fault):
    """A fault of the bytes of a connection, whatever their protocol.

    The dice are rolled once a connection: when the fault is put on for those that are open, at
    their arrival for those that follow. `upstream` bytes flow from client to server.
    """

    direction: Annotated[
        _Directions,
        Field(
            description="`upstream` (to the server), `downstream` or `both`",
            examples=["downstream"],
        ),
    ] = "both"
    probability: _Probability = 1.0  # of connections hit

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions that the fault concerns, each by itself."""
        return get_args(Direction) if self.direction == "both" else (self.direction,)


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Match:
    """Which requests a fault concerns; a field left out concerns all."""

    path: Annotated[
        str | None,
        Field(pattern="^/", description="the beginning of the path", examples=["/rates"]),
    ] = None
    method: Annotated[str | None, Field(pattern=r"^[A-Z-]+$", examples=["GET"])] = None

    def concerns(self, method: str, path: str) -> bool:
        """Whether a request by *method* to *path* is meant."""
        return (self.method is None or method == self.method) and (
            self.path is None or path.startswith(self.path)
        )


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class RequestFault(Fault):
    """A fault of HTTP/1.1 requests; the dice are rolled once a request that matches."""

    match: Annotated[
        Match,
        Field(
            description="the requests that are hit, by `path` (a prefix) and `method`",
            examples=[{"path": "/rates", "method": "GET"}],
        ),
    ] = Match()

    @property
    def may_hit(self) -> bool:
        """Whether any request can be hit at all."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class RolledRequestFault(RequestFault):
    """A fault that hits a share of the requests."""

    probability: _Probability = 1.0  # of matching requests hit

    @property
    def may_hit(self) -> bool:
        """Whether the probability is above 0."""
        return self.probability > 0


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Latency(ByteFault):
    """Bytes arrive later, in order: by `delay_ms`, plus or minus up to `jitter_ms` a read.

    Connects are not delayed. At most 1 MiB a direction is under way at once, which bounds the
    throughput as a TCP window does: 1 MiB per latency.
    """

    figure: ClassVar = "delay_ms"
    delay_ms: Annotated[_Delay, Field(examples=[200])]
    jitter_ms: _Jitter = 0.0
    kind: Literal["latency"] = "latency"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Bandwidth(ByteFault):
    """No more than so many bytes a second, in each direction of each connection."""

    figure: ClassVar = "bytes_per_s"
    bytes_per_s: Annotated[int, Field(strict=True, ge=1, le=10**10, examples=[10 * 1024])]
    kind: Literal["bandwidth"] = "bandwidth"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Slice(ByteFault):
    """Bytes arrive in pieces, with a pause after each."""

    figure: ClassVar = "piece_bytes"
    piece_bytes: _PieceBytes
    every_ms: _Pause = 10.0
    kind: Literal["slice"] = "slice"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class BlackHole(ByteFault):
    """Connections are accepted and nothing arrives, neither bytes nor the end of a stream.

    What was sent meanwhile arrives when the fault ends, as over a network that was cut off.
    """

    kind: Literal["blackHole"] = "blackHole"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Reset(ByteFault):
    """Both ends get a reset (RST): at once, or when the first of the limits given is reached."""

    after_bytes: Annotated[
        _Bytes | None,
        Field(description="hit once so many have passed in one of the directions", examples=[4096]),
    ] = None
    after_ms: Annotated[
        _Delay | None,
        Field(description="hit so long after the fault or the connection", examples=[2000]),
    ] = None
    kind: Literal["reset"] = "reset"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Refuse(Fault):
    """Nobody listens: a connect is refused. Connections that stand are left alone.

    It concerns all connects: there is neither a probability nor a direction. `Reset` with one comes
    nearest to refusing a share.
    """

    kind: Literal["refuse"] = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class HalfClose(ByteFault):
    """The stream ends (FIN) after `after_bytes`, while the other direction goes on.

    Later bytes of the direction are lost. A closed stream stays closed when the fault ends.
    """

    after_bytes: Annotated[
        _Bytes, Field(description="hit once so many have passed", examples=[4096])
    ] = 0
    kind: Literal["halfClose"] = "halfClose"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Limit(ByteFault):
    """The connection closes in order (FIN to both ends) once `bytes` passed in the direction."""

    figure: ClassVar = "bytes"
    bytes: Annotated[_Bytes, Field(examples=[10 * 1024])]
    kind: Literal["limit"] = "limit"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Corrupt(ByteFault):
    """A share of the bytes arrives as other bytes."""

    figure: ClassVar = "share"
    share: Annotated[float, Field(strict=True, gt=0, le=1, examples=[0.01])]
    kind: Literal["corrupt"] = "corrupt"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Status(RolledRequestFault):
    """The proxy answers by itself, with a problem; the request does not reach upstream."""

    figure: ClassVar = "status"
    status: _FailureStatus = 500
    retry_after_s: _RetryAfterS | None = None
    kind: Literal["status"] = "status"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Delay(RolledRequestFault):
    """The head of the reply comes so much later; plus or minus up to `jitter_ms`, never below 0."""

    figure: ClassVar = "delay_ms"
    delay_ms: _Delay
    jitter_ms: _Jitter = 0.0
    kind: Literal["delay"] = "delay"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Drip(RolledRequestFault):
    """The body of the reply comes in pieces, with a pause after each."""

    figure: ClassVar = "piece_bytes"
    piece_bytes: Annotated[_PieceBytes, Field(examples=[1])] = 1
    every_ms: _Pause = 100.0
    kind: Literal["drip"] = "drip"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Truncate(RolledRequestFault):
    """The connection closes after `keep_bytes` of the reply's body, as it is framed on the wire.

    It closes one byte before the end of a body that is shorter: a truncated reply never is whole.
    """

    keep_bytes: Annotated[
        _Bytes, Field(description="how much of the body arrives", examples=[100])
    ] = 0
    kind: Literal["truncate"] = "truncate"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class FailFirst(RequestFault):
    """The first `requests` that match are answered with a failure, as by `Status`."""

    figure: ClassVar = "requests"
    requests: Annotated[int, Field(strict=True, ge=1, le=1_000_000_000, examples=[3])]
    status: _FailureStatus = 500
    retry_after_s: _RetryAfterS | None = None
    kind: Literal["failFirst"] = "failFirst"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Renewal:
    """A longer lease for a fault that is on."""

    ttl_s: _LeaseSeconds  # from now


AnyByteFault = Latency | Bandwidth | Slice | BlackHole | Reset | HalfClose | Limit | Corrupt
AnyRequestFault = Status | Delay | Drip | Truncate | FailFirst
AnyFault = AnyByteFault | AnyRequestFault | Refuse
