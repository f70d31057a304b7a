"""Faults that a service's own injector or a proxy on a link makes, as keys of a file.

Their models are `chaos.document` and `fault_proxy.faults.documents`; the keys come out of them. A
field has one name: `fail_first` in code and file is `failFirst` on the wire. Where it ends in a
unit of time, a file leaves that to the value: `delay_ms` is `delayMs: 500` on the wire and
`delay: 500ms` in a file, with the same range.
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import Field, TypeAdapter, ValidationInfo, create_model
from pydantic.alias_generators import to_camel, to_snake

from chaos.document import ChaosDocument
from fault_proxy.faults.documents import AnyFault
from lab.spec.models import Parser, Spec, check_keys, reads, says
from lab.spec.problems import Wrong
from lab.spec.quantities import (
    BANDWIDTH,
    DURATION,
    SHARE,
    SIZE,
    Line,
    choice,
    http_path,
    name,
    to_bytes,
    to_bytes_per_s,
    to_seconds,
    to_share,
    to_whole_ms,
    to_whole_s,
    true,
    whole,
)
from lab.spec.system import LINK_EXAMPLE, Link, link_of
from lab.spec.yaml_tree import MappingNode, Node, describe

Schema = Mapping[str, Any]
_OF_THE_LAB = {"name", "kind", "ttl_s"}  # which names no fault and sets the leases itself
_CHOICES = {"body": "way to spoil a body", "method": "method in capitals that a fault can be for"}
_BYTES_PER_KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosFault:
    """A document for the service's own fault injector, in the wire's names and units."""

    kind: Literal["chaos"] = "chaos"
    service: str
    document: Mapping[str, object]

    @property
    def has_effect(self) -> bool:
        """Whether any request can be touched at all."""
        return any(self.document.get(to_camel(name)) for name in ChaosDocument.EFFECTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFault:
    """A document for the proxy on a link, in the wire's names and units."""

    kind: Literal["link"] = "link"
    link: Link
    document: Mapping[str, object]

    @property
    def service(self) -> str:
        """Where it is, for people: `front -> rates`."""
        return str(self.link)


class _Unit(NamedTuple):
    """How a file writes a field whose name has an ending, and how it is told again."""

    ending: str
    parse: Parser
    schema: Any
    tell: Any


def _told(number: float, units: tuple[tuple[float, str], ...]) -> str:
    """Return *number* in the largest unit in which it is whole."""
    size, unit = next((each for each in units if number and number % each[0] == 0), units[-1])
    return f"{number / size:.0f}{'' if unit == 'ms' else ' '}{unit}"


def _ms(number: float) -> str:
    return _told(number, ((3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms")))


def _bytes(number: float) -> str:
    return _told(number, ((2**30, "GiB"), (2**20, "MiB"), (_BYTES_PER_KIB, "KiB"), (1, "B")))


_UNITS = (
    _Unit("bytes_per_s", to_bytes_per_s, BANDWIDTH, lambda number: f"{_bytes(number)}/s"),
    _Unit("bytes", to_bytes, SIZE, _bytes),
    _Unit("_ms", to_whole_ms, DURATION, _ms),
    _Unit("_s", to_whole_s, DURATION, lambda number: _ms(number * 1000)),
)


def _field(field: str, schema: Schema, *, alias: str | None = None) -> tuple[Any, Any]:
    """Return the type and the default of a file's key for a model's field with *schema*."""
    options = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    limits: Schema = {**options[0], **schema}
    unit = next((each for each in _UNITS if field.endswith(each.ending)), None)
    parse, form = _parser(field, limits, unit)
    example = limits.get("examples", ["…"])[0]
    key = alias or field.removesuffix("_ms").removesuffix("_s")
    about = Field(
        alias=key,
        examples=[unit.tell(example) if unit else _plain(example, limits)],
        description=limits.get("description"),
    )
    return Annotated[Any, reads(parse, schema=form), about], None


def _parser(field: str, limits: Schema, unit: _Unit | None) -> tuple[Parser, Any]:
    """Return what reads the field from a file, and the type that says how it looks there."""
    if unit:
        parse = unit.parse
        if unit.ending == "_s" and limits["type"] == "number":
            parse = to_seconds
        return _within(parse, limits, unit), unit.schema
    if "enum" in limits:
        choices = limits["enum"]
        return choice(choices, kind=_CHOICES.get(field, field)), Literal[tuple(choices)]
    if limits["type"] == "boolean":
        return true, Literal[True]
    if limits["type"] == "number":
        return _more_than_none if "exclusiveMinimum" in limits else to_share, SHARE
    if limits["type"] == "integer":
        least, most = limits["minimum"], limits.get("maximum", 2**63 - 1)
        return whole(least, most), Annotated[int, Field(ge=least, le=most)]
    return (http_path if field == "path" else name), str


def _more_than_none(node: Node) -> float:
    value = to_share(node)
    if not value:
        raise Wrong(f"must be more than 0, got {describe(node)}")
    return float(value)


def _within(parse: Parser, limits: Schema, unit: _Unit) -> Parser:
    least, most = limits["minimum"], limits["maximum"]

    def parse_within(node: Node) -> float:
        value: float = parse(node)
        if not least <= value <= most:
            told = f"from {unit.tell(least)} to {unit.tell(most)}"
            raise Wrong(f"must be {told}, got {describe(node)}")
        return value

    return parse_within


def _plain(example: object, limits: Schema) -> str:
    """Return how an example without a unit stands in a file."""
    if isinstance(example, bool):
        return str(example).lower()
    if isinstance(example, Mapping):
        return "{" + ", ".join(f"{key}: {value}" for key, value in example.items()) + "}"
    is_share = isinstance(example, float) and limits.get("maximum") == 1
    return f"{example:.0%}".replace("%", " %") if is_share else str(example)


class _Document(Spec):
    """The keys of a fault that a file writes for the fields of its model."""

    def document(self) -> dict[str, object]:
        """Return the members of the wire's JSON object for what the file has written."""
        fields = (each for each in type(self).model_fields if each in self.model_fields_set)
        written = {field: getattr(self, field) for field in fields}
        return {
            to_camel(field): value.document() if isinstance(value, _Document) else value
            for field, value in written.items()
            if field not in {"service", "link", "is_on"}
        }


class _Match(_Document):
    """Which requests a fault is for."""

    @classmethod
    def key_problems(cls, node: MappingNode, *, is_complete: bool) -> Iterator[Wrong]:
        """Refuse a match of nothing."""
        if is_complete and not node:
            yield Wrong("names neither path nor method", advice="name one, or leave match out")


class _Chaos(_Document):
    """The keys of a fault that a service's own injector makes."""

    service: Annotated[Line, says("rates", "a service with a `chaos` path", alias="chaos")]

    @classmethod
    def key_problems(cls, node: MappingNode, *, is_complete: bool) -> Iterator[Wrong]:
        """Refuse a fault that only says how."""
        keys = cls.file_keys()
        if is_complete and not any(keys[key] in ChaosDocument.EFFECTS for key in node):
            advice = "write e.g. failure: 30 % or delay: 500ms"
            what = f"does nothing to {describe(node['chaos'])}"
            yield Wrong(what, name="fault", advice=advice)


class _OnALink(_Document):
    """The keys of a fault that a proxy makes."""

    link: Annotated[
        Link,
        reads(
            lambda node: link_of(name(node)),
            schema=Annotated[str, Field(pattern=r"^[^>]+->[^>]+$")],
        ),
        says(
            LINK_EXAMPLE,
            "where the proxy stands: `load -> front`, or from a service with `run` to "
            "one whose address it has from the lab",
        ),
    ]


def _keys_of(name: str, base: type[_Document], fields: Mapping[str, Any]) -> type[Any]:
    """Return the model of the keys that a file has for *fields*."""
    return create_model(name, __base__=base, **fields)


def _match_of(schema: Schema, of: str) -> tuple[Any, Any]:
    properties = schema["$defs"]["Match"]["properties"]
    if of not in _MATCHES:
        fields = {each: _field(each, one) for each, one in properties.items()}
        _MATCHES[of] = _keys_of(f"{of}Match", _Match, fields)
    about: Schema = schema["properties"]["match"]
    example = _plain({each: one["examples"][0] for each, one in properties.items()}, about)
    return (Annotated[_MATCHES[of] | None, says(example, about["description"])], None)


_MATCHES: dict[str, Any] = {}  # one for all faults that a proxy makes, one for all of a service


def _chaos_keys() -> type[_Chaos]:
    schema = ChaosDocument.model_json_schema(by_alias=False)
    fields = {
        each: _match_of(schema, "Chaos") if each == "match" else _field(each, one)
        for each, one in schema["properties"].items()
        if each not in _OF_THE_LAB
    }
    keys: type[_Chaos] = _keys_of("ChaosFault", _Chaos, fields)
    return keys


def link_keys(model: Any) -> type[_OnALink]:  # noqa: ANN401 - one of the classes of AnyFault
    """Return the model of the keys that a file has for a fault of the proxy."""
    schema = TypeAdapter(model).json_schema(by_alias=False)
    key = _key_of(model)
    if model.figure is None:
        on = says("true", alias=key)
        fields: dict[str, Any] = {
            "is_on": (Annotated[Any, reads(true, schema=Literal[True]), on], ...)
        }
    else:
        figure_type, _ = _field(model.figure, schema["properties"][model.figure], alias=key)
        fields = {model.figure: (figure_type, ...)}
    own_first = sorted(
        schema["properties"], key=lambda each: (each == "seed", each not in model.__annotations__)
    )
    for each in own_first:
        if each not in {*_OF_THE_LAB, model.figure}:
            one = schema["properties"][each]
            fields[each] = _match_of(schema, "Link") if each == "match" else _field(each, one)
    keys: type[_OnALink] = _keys_of(f"{model.__name__}OnALink", _OnALink, fields)
    keys.__doc__ = inspect.cleandoc(model.__doc__).partition("\n\n")[0].replace("\n", " ")
    return keys


def _key_of(model: Any) -> str:  # noqa: ANN401
    return to_snake(wire_kind(model))


def wire_kind(model: Any) -> str:  # noqa: ANN401
    """Return how the wire calls a fault of the proxy; *model* is one of the classes of AnyFault."""
    kind: str = get_args(model.__dataclass_fields__["kind"].type)[0]
    return kind


CHAOS_KEYS = _chaos_keys()
LINK_KEYS = {_key_of(model): link_keys(model) for model in get_args(AnyFault)}
_WIRE_KINDS = {_key_of(model): wire_kind(model) for model in get_args(AnyFault)}


def read_chaos(node: MappingNode, info: ValidationInfo) -> ChaosFault:
    """Return the fault of a mapping with the key `chaos`."""
    keys = CHAOS_KEYS.model_validate(node, context=info.context)
    return ChaosFault(service=keys.service, document=MappingProxyType(keys.document()))


def read_link_fault(node: MappingNode, info: ValidationInfo) -> LinkFault:
    """Return the fault of a mapping with the key `link`."""
    present = [key for key in LINK_KEYS if key in node]
    kinds = [
        key
        for key in present  # a kind may be a further key of another: the status of failFirst
        if not any(key in LINK_KEYS[other].file_keys() for other in present if other != key)
    ]
    if len(kinds) != 1:
        if not kinds:
            every_key = dict.fromkeys(
                key for each in LINK_KEYS.values() for key in each.file_keys()
            )
            check_keys(node, every_key)
        got = " and ".join(kinds) or "none of them"
        raise Wrong(
            f"on a link must have exactly one of the keys {', '.join(LINK_KEYS)}, got {got}",
            name="fault",
            advice="make each a fault of its own, e.g. {link: front -> rates, latency: 200ms}",
        )
    keys = LINK_KEYS[kinds[0]].model_validate(node, context=info.context)
    document = {"kind": _WIRE_KINDS[kinds[0]], **keys.document()}
    return LinkFault(link=keys.link, document=MappingProxyType(document))
