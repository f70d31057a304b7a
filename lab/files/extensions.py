"""The `extensions` of an experiment, and the keys that they add to its faults and its outcome."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType, ModuleType

from lab.fault_kinds import ExtensionFault
from lab.files.beside import beside
from lab.files.errors import Problems, Wrong, show
from lab.files.fields import Fields, items, mapping, sequence
from lab.files.scalars import choice
from lab.files.tree import ListNode, MappingNode, Node
from lab.system import System
from loadgen import CodeRule
from loadgen.code import CodeError, describe, load_file, load_object

FAULT_GROUP = "resilience_lab.faults"  # of entry points, each named after its kind
OUTCOME_GROUP = "resilience_lab.outcomes"
_CHANGE = "change the options or the class"
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_KIND = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_WHOLE = re.compile(r"[-+]?\d{1,18}")
_NUMBER = re.compile(r"[-+]?(\d+\.\d*|\.\d+|\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    """Classes of a user's own by their kind, each as a reference that `load_object` takes.

    Those of a file go before those that a package has installed.
    """

    own_faults: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    own_outcomes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def faults(self) -> Mapping[str, str]:
        """The kinds of fault, beside the built-in ones."""
        return _installed(FAULT_GROUP) | dict(self.own_faults)

    @property
    def outcomes(self) -> Mapping[str, str]:
        """The kinds of outcome rule, beside the built-in ones."""
        return _installed(OUTCOME_GROUP) | dict(self.own_outcomes)

    def read_fault(
        self, kind: str, node: MappingNode, system: System, problems: Problems
    ) -> ExtensionFault:
        """Return a fault whose class has taken its options: the keys beside the kind's own."""
        code = self.faults[kind]
        make = _loaded(code)
        fields = Fields(node, problems, keys=(kind, *_parameters(make)))
        known = choice((each.name for each in system.services), kind="service of the system")
        service = fields.require(kind, known, example=system.services[0].name, stand_in="")
        options = _options(fields, make, besides=kind)
        if _is_complete(fields, make):
            _try(lambda: make(**options), code)
        return ExtensionFault(
            kind=kind, service=service, code=code, options=MappingProxyType(options)
        )

    def read_outcome(self, kind: str, node: Node, problems: Problems) -> CodeRule | None:
        """Return a rule whose class has taken its options: the mapping under the kind."""
        code = self.outcomes[kind]
        make = _loaded(code)
        Fields(node, problems, keys=(kind,))
        fields = Fields(mapping(node).values[kind], problems, keys=tuple(_parameters(make)))
        options = _options(fields, make)
        if not _is_complete(fields, make):
            return None
        try:
            return CodeRule(code=code, options=options)
        except CodeError as error:
            raise Wrong(f"is refused: {_short(str(error), code)}", advice=_CHANGE) from None


INSTALLED = Extensions()


def read_extensions(
    node: Node, problems: Problems, is_built_in: Callable[[str], bool]
) -> Extensions:
    """Return what the files of the list, which stand beside the experiment's, hold.

    Args:
        node: the list.
        problems: takes what is wrong.
        is_built_in: whether a kind of fault or outcome is taken.

    Raises:
        FileError: one of the files is wrong.
    """
    faults: dict[str, str] = {}
    outcomes: dict[str, str] = {}

    def parse(node: Node) -> Path:
        path = beside(problems.path, node)
        try:
            module = load_file(path)
        except CodeError as error:
            raise Wrong(f"names {path.name}, which {error}", advice="correct that line") from None
        own_faults, own_outcomes = _kinds_in(module, path)
        for known, own in ((faults, own_faults), (outcomes, own_outcomes)):
            for kind, code in own.items():
                if kind in known or is_built_in(kind):
                    what = f"names {path.name}, whose kind {show(kind)} there is already"
                    raise Wrong(what, advice="rename it")
                known[kind] = code
        return path

    found = items(node, problems, parse, name="extensions", example="extensions: [my_faults.py]")
    if len(found) < len(sequence(node).items):  # each kind of a wrong file would be unknown
        problems.check()
    return Extensions(own_faults=MappingProxyType(faults), own_outcomes=MappingProxyType(outcomes))


def _kinds_in(module: ModuleType, path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the references of a file's classes by kind: those of faults, those of outcomes."""
    faults: dict[str, str] = {}
    outcomes: dict[str, str] = {}
    for made in vars(module).values():
        if not inspect.isclass(made) or made.__module__ != module.__name__:
            continue
        kind = getattr(made, "kind", None)
        is_fault, is_outcome = hasattr(made, "applied"), hasattr(made, "classify")
        if not (is_fault or is_outcome):
            continue
        if not isinstance(kind, str) or not _KIND.fullmatch(kind):
            what = f"names {path.name}, whose class {made.__name__} has the kind {kind!r}"
            raise Wrong(what, advice='give it a word, e.g. kind = "stutter"')
        (faults if is_fault else outcomes)[kind] = f"{path.resolve()}:{made.__name__}"
    if not faults and not outcomes:
        advice = "give it a class with kind and applied, or with kind and classify"
        raise Wrong(f"names {path.name}, which has no fault and no outcome rule", advice=advice)
    return faults, outcomes


@cache
def _installed(group: str) -> dict[str, str]:
    return {each.name: each.value for each in entry_points(group=group)}


def _loaded(code: str) -> Callable[..., object]:
    try:
        made: Callable[..., object] = load_object(code)
    except CodeError as error:
        raise Wrong(f"is an extension, but {error}", advice="correct or uninstall it") from None
    return made


def _parameters(make: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """Return the parameters that can be given by name, by name."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(make).parameters.items()
    return {name: each for name, each in parameters if each.kind in named}


def _options(
    fields: Fields, make: Callable[..., object], *, besides: str = ""
) -> dict[str, object]:
    """Return the fields as keyword arguments, noting those that *make* cannot do without."""
    for name in _required(make):
        fields.require(name, _plain, example="…", stand_in=None)
    return {name: _plain(value) for name, value in fields.node.values.items() if name != besides}


def _required(make: Callable[..., object]) -> list[str]:
    return [name for name, each in _parameters(make).items() if each.default is each.empty]


def _is_complete(fields: Fields, make: Callable[..., object]) -> bool:
    return not fields.has_unknown and all(name in fields for name in _required(make))


def _try(make: Callable[[], object], code: str) -> None:
    try:
        make()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a user's code does
        what = f"is refused by {_short(code, code)}: {describe(error)}"
        raise Wrong(what, advice=_CHANGE) from None


def _short(text: str, code: str) -> str:
    """Return *text* with the reference *code* in it without its folder."""
    return text.replace(code, Path(code).name)


def _plain(node: Node) -> object:
    """Return what YAML makes of a value: text, number, true or false, nothing, list, mapping."""
    if isinstance(node, MappingNode):
        return {key: _plain(value) for key, value in node.values.items()}
    if isinstance(node, ListNode):
        return [_plain(item) for item in node.items]
    return node.text if node.is_text else _unquoted(node.text)


def _unquoted(text: str) -> object:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
