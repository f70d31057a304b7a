"""Who sends: the `clients` of an experiment, and the sweeps of their settings."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationInfo
from pydantic.json_schema import SkipJsonSchema

from lab.spec.models import Entry, Spec, made, mapping, reads, says, sequence
from lab.spec.problems import Wrong
from lab.spec.quantities import Headers, Line, SettingName, VariableName, name, written
from lab.spec.yaml_tree import Node, describe
from loadgen.quantities import duration_s, show

EMPTY: Mapping[str, str] = MappingProxyType({})
MAX_CLIENTS = 100  # of one sweep; each is a column of cells
SWEEP_EXAMPLE = "{attempt_timeout: {env: front.ATTEMPT_TIMEOUT_S, values: [100ms, 1 s]}}"
_VARIABLE = re.compile(r"([A-Za-z_][\w-]*)\.([A-Za-z_]\w*)", re.ASCII)
_HAS_UNIT = re.compile(r"[-+.\d]+\s*[A-Za-zµ]+")
_PER_SECOND = {"_MS": 1000, "_S": 1}  # how a variable's name ends, and its unit's share of a second


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """What varies on the calling side: each request's query and headers, services' environment."""

    name: str
    query: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    env: Mapping[str, Mapping[str, str]] = field(  # service name -> its extra environment
        default_factory=lambda: MappingProxyType({})
    )
    sweep: str = ""  # the sweep that it is one combination of; empty: of none
    settings: Mapping[str, str] = field(default_factory=lambda: EMPTY)  # of that, as written


def _variable(node: Node) -> tuple[str, str]:
    match = _VARIABLE.fullmatch(name(node))
    if match is None:
        raise Wrong(f"must be a service and a variable, got {show(name(node))}")
    return match[1], match[2]


def _values(node: Node, info: ValidationInfo) -> tuple[tuple[str, str], ...]:
    """Return each value as it was written and as the service is told."""
    variable = info.data.get("env", ("", ""))[1]
    found = [_value(item, variable) for item in sequence(node)]
    if not found:
        raise Wrong("must hold at least one value, got []")
    told = [each for _, each in found]
    for written_as, value in found:
        if told.count(value) > 1:
            raise Wrong(f"holds {show(written_as)} twice", advice="keep one of the two")
    return tuple(found)


def _value(node: Node, variable: str) -> tuple[str, str]:
    text = written(node).strip()
    if not text or "\n" in text:
        raise Wrong(f"must hold values of one line each, got {describe(node)}")
    per_second = next((n for end, n in _PER_SECOND.items() if variable.upper().endswith(end)), 0)
    if per_second and _HAS_UNIT.fullmatch(text):
        return text, f"{(duration_s(text) * per_second).normalize():f}"
    return text, text


class Setting(Spec):
    """A variable of a service's environment, and the values that it takes in turn."""

    name: SkipJsonSchema[str]
    env: Annotated[
        tuple[str, str],
        reads(_variable, schema=Annotated[str, Field(pattern=r"^[^.]+\.[A-Za-z_]\w*$")]),
        says("front.ATTEMPT_TIMEOUT_S", "`SERVICE.VARIABLE`: of which service which variable"),
    ]
    values: Annotated[
        tuple[tuple[str, str], ...],
        made(_values, schema=list[str | float]),
        says(
            "[100ms, 300ms, 1 s]",
            "a duration is told in seconds to a variable that ends in `_S`, in "
            "milliseconds to one in `_MS`, else as written",
        ),
    ]


def _sweep(node: Node, info: ValidationInfo) -> tuple[Setting, ...]:
    if not mapping(node):
        raise Wrong("must name at least one setting, got {}")
    settings = _SETTINGS.validate_python(node, context=info.context).values()
    owners: dict[tuple[str, str], str] = {}
    for each in settings:
        if each.env in owners:
            what = f"sets {'.'.join(each.env)} by {show(owners[each.env])} and by {show(each.name)}"
            raise Wrong(what, advice="keep one of the two")
        owners[each.env] = each.name
    sizes = [len(each.values) for each in settings]
    if math.prod(sizes) > MAX_CLIENTS:
        raise Wrong(
            f"comes to {' x '.join(map(str, sizes))} = {math.prod(sizes)} clients, at most "
            f"{MAX_CLIENTS} are run",
            advice="leave out values, or sweep fewer settings at a time",
        )
    return tuple(settings)


_SETTINGS = TypeAdapter(dict[SettingName, Setting])


class ClientKeys(Spec):
    """The keys of one of the `clients`; `clients` are what they say together."""

    name: SkipJsonSchema[str]
    query: Annotated[
        dict[str, Line],
        Entry(example='"true"'),
        says('{raw: "true"}', "parameters added to every request's address"),
    ] = {}
    headers: Annotated[
        Headers,
        Entry(example="uk"),
        says("{accept-language: uk}", "headers added to every request"),
    ] = {}
    env: Annotated[
        dict[str, dict[VariableName, Line]],
        Entry(example='{RETRIES: "0"}'),
        says('{front: {RETRIES: "0"}}', "variables of services that the lab starts, by service"),
    ] = {}
    sweep: Annotated[
        tuple[Setting, ...],
        made(_sweep, schema=dict[SettingName, Setting]),
        Entry(example="{env: front.RETRIES, values: [0, 2]}"),
        says(
            SWEEP_EXAMPLE, "settings in turn, each with each of the others, up to 100 combinations"
        ),
    ] = ()

    def clients(self) -> tuple[Client, ...]:
        """Return the client, or one per combination; the last setting changes fastest."""
        if not self.sweep:
            client = Client(name=self.name, query=self.query, headers=self.headers, env=self.env)
            return (client,)
        combinations = itertools.product(*(setting.values for setting in self.sweep))
        return tuple(self._swept(values) for values in combinations)

    def _swept(self, values: tuple[tuple[str, str], ...]) -> Client:
        env = {service: dict(own) for service, own in self.env.items()}
        settings: dict[str, str] = {}
        for setting, (written_as, told) in zip(self.sweep, values, strict=True):
            service, variable = setting.env
            env.setdefault(service, {})[variable] = told
            settings[setting.name] = written_as
        combination = " ".join(f"{name}={value}" for name, value in settings.items())
        return Client(
            name=f"{self.name} {combination}",
            query=self.query,
            headers=self.headers,
            env=env,
            sweep=self.name,
            settings=settings,
        )


def _clients(node: Node, info: ValidationInfo) -> tuple[Client, ...]:
    if not mapping(node):
        raise Wrong("must name at least one client, got {}")
    keys = _CLIENTS.validate_python(node, context=info.context).values()
    clients = tuple(client for each in keys for client in each.clients())
    names = Counter(name for client in clients for name in {client.name, client.sweep} if name)
    for client in clients:
        if names[client.name] > 1:
            raise Wrong(f"names {show(client.name)} twice", advice="rename one of the two")
    return clients


_CLIENTS = TypeAdapter(dict[str, ClientKeys])
ClientsField = Annotated[
    tuple[Client, ...], made(_clients, schema=dict[str, ClientKeys]), Entry(example="{}")
]
