"""The grammar of a `chaos` fault: what a service's own injector is asked for."""

from types import MappingProxyType

from lab.fault_kinds import ChaosFault
from lab.files.errors import Problems, Wrong, show
from lab.files.fields import Fields
from lab.files.scalars import (
    MS_PER_S,
    Parser,
    choice,
    describe,
    fraction,
    http_path,
    seconds,
    whole,
    whole_ms,
    whole_s,
)
from lab.files.tree import MappingNode, Node, Scalar

_MAX_COUNT = 10**9
_MAX_DELAY_MS = 600 * MS_PER_S
_MIN_FLAP_S = 0.01
_BODIES = ("drip", "truncate", "garbage", "empty")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_HARMFUL = ("failure", "delay", "jitter", "failFirst", "body", "hang")  # the others only say how


def read_chaos(node: MappingNode, service: Parser[str], problems: Problems) -> ChaosFault:
    """Return the fault of a mapping with the key `chaos`; *service* reads whose it is."""
    fields = Fields(node, problems, keys=("chaos", *_KEYS, "match"))
    name = fields.require("chaos", service, example="rates", stand_in="")
    if not any(key in fields for key in _HARMFUL) and not fields.has_unknown:
        advice = "write e.g. failure: 30 % or delay: 500ms"
        raise Wrong(f"does nothing to {show(name)}", advice=advice)
    document = {
        wire: fields.read(key, parse, example=example, default=None)
        for key, (wire, parse, example) in _KEYS.items()
        if key in fields
    }
    if "match" in fields:
        example = "{path: /rates, method: GET}"
        document["match"] = fields.read(
            "match", lambda node: read_match(node, problems), example=example, default=None
        )
    return ChaosFault(service=name, document=MappingProxyType(document))


def read_match(node: Node, problems: Problems) -> dict[str, str | None]:
    """Return which requests a fault is for; the keys that the file leaves out are left out."""
    fields = Fields(node, problems, keys=("path", "method"))
    method = choice(_METHODS, kind="method in capitals that a fault can be for")
    found = {
        "path": fields.read("path", http_path, example="/rates", default=None),
        "method": fields.read("method", method, example="GET", default=None),
    }
    if not any(key in fields for key in found) and not fields.has_unknown:
        raise Wrong("names neither path nor method", advice="name one, or leave match out")
    return {key: value for key, value in found.items() if key in fields}


def _delay_ms(node: Node) -> int:
    value = whole_ms(node)
    if value > _MAX_DELAY_MS:
        raise Wrong(f"must be at most 10 min, got {describe(node)}", advice="or write hang: true")
    return value


def _flap_s(node: Node) -> float:
    value = seconds(node)
    if value < _MIN_FLAP_S:
        raise Wrong(f"must be at least 10 ms, got {describe(node)}")
    return value


def true(node: Node) -> bool:
    """Return true, the only value of a key that is there or not."""
    if isinstance(node, Scalar) and not node.is_text and node.text.lower() == "true":
        return True
    raise Wrong(f"must be true, got {describe(node)}", advice="write true, or leave it out")


_KEYS: dict[str, tuple[str, Parser[object], str]] = {  # key -> (wire name, parser, example)
    "failure": ("failure", fraction, "30 %"),
    "status": ("status", whole(400, 599), "503"),
    "delay": ("delayMs", _delay_ms, "500ms"),
    "jitter": ("jitterMs", _delay_ms, "50ms"),
    "failFirst": ("failFirst", whole(0, _MAX_COUNT), "3"),
    "retryAfter": ("retryAfterS", whole_s, "2 s"),
    "body": ("body", choice(_BODIES, kind="way to spoil a body"), "truncate"),
    "hang": ("hang", true, "true"),
    "flap": ("flapS", _flap_s, "2 s"),
    "seed": ("seed", whole(0, _MAX_COUNT), "7"),
}
WIRE_NAMES = {wire: key for key, (wire, _, _) in _KEYS.items()}
