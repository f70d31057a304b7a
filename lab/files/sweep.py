"""The `sweep` of a client: settings of a policy, each in turn with each of the others."""

import itertools
import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from lab.files.errors import Problems, Wrong, show
from lab.files.fields import Fields, entries, mapping, sequence
from lab.files.scalars import Parser, choice, describe, name, written
from lab.files.tree import Node, Scalar
from lab.files.units import duration_s
from lab.system import System

SWEEP_EXAMPLE = "{attempt_timeout: {env: front.ATTEMPT_TIMEOUT_S, values: [100ms, 1 s]}}"
MAX_CLIENTS = 100  # of one sweep; each is a column of cells
_SETTING_NAME = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_VARIABLE = re.compile(r"([A-Za-z_][\w-]*)\.([A-Za-z_]\w*)", re.ASCII)
_HAS_UNIT = re.compile(r"[-+.\d]+\s*[A-Za-zµ]+")
_PER_SECOND = {"_MS": 1000, "_S": 1}  # how a variable's name ends, and its unit's share of a second


class Value(NamedTuple):
    """One value of a setting: as it was written, and what the service is told."""

    written: str
    told: str


class Setting(NamedTuple):
    """A variable of a service's environment, and the values that it takes in turn."""

    name: str
    service: str
    variable: str
    values: tuple[Value, ...]


class Combination(NamedTuple):
    """A value of each setting: as written by setting, and as told by service and variable."""

    settings: Mapping[str, str]
    env: Mapping[str, Mapping[str, str]]

    @property
    def name(self) -> str:
        """For people: `attempt_timeout=100ms retries=2`."""
        return " ".join(f"{name}={value}" for name, value in self.settings.items())


def read_sweep(node: Node, system: System, problems: Problems) -> tuple[Combination, ...]:
    """Return all combinations of the settings' values, the last setting changing fastest."""
    if not mapping(node).values:
        raise Wrong("must name at least one setting, got {}")
    found = entries(
        node,
        problems,
        lambda key, value: _setting(key, value, system, problems),
        example="{env: front.RETRIES, values: [0, 2]}",
    )
    settings = tuple(setting for setting in found.values() if setting)
    _check_distinct(settings)
    sizes = [len(setting.values) for setting in settings]
    if math.prod(sizes) > MAX_CLIENTS:
        product = " x ".join(map(str, sizes))
        raise Wrong(
            f"comes to {product} = {math.prod(sizes)} clients, at most {MAX_CLIENTS} are run",
            advice="leave out values, or sweep fewer settings at a time",
        )
    return tuple(
        _combination(settings, values)
        for values in itertools.product(*(setting.values for setting in settings))
    )


def _combination(settings: tuple[Setting, ...], values: tuple[Value, ...]) -> Combination:
    env: dict[str, dict[str, str]] = {}
    for setting, value in zip(settings, values, strict=True):
        env.setdefault(setting.service, {})[setting.variable] = value.told
    names = (setting.name for setting in settings)
    return Combination(
        settings=MappingProxyType(
            dict(zip(names, (value.written for value in values), strict=True))
        ),
        env=MappingProxyType(env),
    )


def _check_distinct(settings: tuple[Setting, ...]) -> None:
    owners: dict[tuple[str, str], str] = {}
    for setting in settings:
        key = (setting.service, setting.variable)
        if key in owners:
            what = f"sets {'.'.join(key)} by {show(owners[key])} and by {show(setting.name)}"
            raise Wrong(what, advice="keep one of the two")
        owners[key] = setting.name


def _setting(own_name: str, node: Node, system: System, problems: Problems) -> Setting | None:
    if not _SETTING_NAME.fullmatch(own_name):
        raise Wrong("is no name of letters, digits, _ and -", advice="rename it, e.g. retries")
    fields = Fields(node, problems, keys=("env", "values"))
    variable = fields.require(
        "env", _variable(system), example="front.ATTEMPT_TIMEOUT_S", stand_in=None
    )
    values = fields.require(
        "values",
        lambda node: _values(node, variable[1] if variable else ""),
        example="[100ms, 300ms, 1 s]",
        stand_in=None,
    )
    if variable is None or values is None:
        return None
    return Setting(own_name, *variable, values)


def _variable(system: System) -> Parser[tuple[str, str]]:
    started = choice(
        (each.name for each in system.services if each.run), kind="service that the lab starts"
    )

    def parse(node: Node) -> tuple[str, str]:
        match = _VARIABLE.fullmatch(name(node))
        if match is None:
            raise Wrong(f"must be a service and a variable, got {show(name(node))}")
        started(Scalar(place=node.place, text=match[1], is_text=True))
        return match[1], match[2]

    return parse


def _values(node: Node, variable: str) -> tuple[Value, ...]:
    found = [_value(item, variable) for item in sequence(node).items]
    if not found:
        raise Wrong("must hold at least one value, got []")
    told = [value.told for value in found]
    for value in found:
        if told.count(value.told) > 1:
            raise Wrong(f"holds {show(value.written)} twice", advice="keep one of the two")
    return tuple(found)


def _value(node: Node, variable: str) -> Value:
    text = written(node).strip()
    if not text or "\n" in text:
        raise Wrong(f"must hold values of one line each, got {describe(node)}")
    per_second = next((n for end, n in _PER_SECOND.items() if variable.upper().endswith(end)), 0)
    if per_second and _HAS_UNIT.fullmatch(text):
        return Value(text, f"{(duration_s(text) * per_second).normalize():f}")
    return Value(text, text)
