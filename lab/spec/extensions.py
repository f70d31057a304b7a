"""The `extensions` of an experiment, and the keys that they add to its faults and its outcome."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType, ModuleType

from lab.spec.models import check_keys, mapping, sequence
from lab.spec.problems import Problems, Wrong
from lab.spec.quantities import beside, line, name
from lab.spec.yaml_tree import ListNode, MappingNode, Node
from loadgen import CodeRule
from loadgen.code import CodeError, describe, load_file, load_object
from loadgen.quantities import show

FAULT_GROUP = "resilience_lab.faults"  # of entry points, each named after its kind
OUTCOME_GROUP = "resilience_lab.outcomes"
_CHANGE = "change the options or the class"
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_KIND = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_WHOLE = re.compile(r"[-+]?\d{1,18}")
_NUMBER = re.compile(r"[-+]?(\d+\.\d*|\.\d+|\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionFault:
    """A fault of a user's own: a class by its reference, and its keyword arguments."""

    kind: str
    service: str
    code: str  # `path/to/file.py:Name` or `package.module:Name`
    options: Mapping[str, object]


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

    def read_fault(self, kind: str, node: MappingNode) -> ExtensionFault:
        """Return a fault whose class has taken its options: the keys beside the kind's own.

        Raises:
            ValidationError: a key is unknown.
            Wrong: an option is missing, or the class refuses them.
        """
        code = self.faults[kind]
        make = _loaded(code)
        options = _options(node, make, besides=(kind,))
        try:
            make(**options)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a user's code does
            what = f"is refused by {_short(code, code)}: {describe(error)}"
            raise Wrong(what, name="fault", advice=_CHANGE) from None
        service = line(node[kind])
        return ExtensionFault(
            kind=kind, service=service, code=code, options=MappingProxyType(options)
        )

    def read_outcome(self, kind: str, node: MappingNode) -> CodeRule:
        """Return a rule whose class has taken its options: the mapping under the kind.

        Raises:
            ValidationError: a key is unknown.
            Wrong: an option is missing, or the class refuses them.
        """
        code = self.outcomes[kind]
        check_keys(node, (kind,))
        options = _options(mapping(node[kind]), _loaded(code))
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
        problems: knows the experiment's path.
        is_built_in: whether a kind of fault or outcome is taken.

    Raises:
        FileError: one of the files is wrong; each kind of it would be unknown.
    """
    faults: dict[str, str] = {}
    outcomes: dict[str, str] = {}
    with problems.at("extensions", node.place):
        for each in sequence(node):
            with problems.at("extensions", each.place):
                path = beside(name(each), problems.path.parent)
                found = _kinds_in(path)
                for known, own in zip((faults, outcomes), found, strict=True):
                    for kind, code in own.items():
                        if kind in known or is_built_in(kind):
                            what = f"names {path.name}, whose kind {show(kind)} there is already"
                            raise Wrong(what, advice="rename it")
                        known[kind] = code
    problems.check()
    return Extensions(own_faults=MappingProxyType(faults), own_outcomes=MappingProxyType(outcomes))


def _kinds_in(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the references of a file's classes by kind: those of faults, those of outcomes."""
    try:
        module = load_file(path)
    except CodeError as error:
        raise Wrong(f"names {path.name}, which {error}", advice="correct that line") from None
    faults: dict[str, str] = {}
    outcomes: dict[str, str] = {}
    for made in _classes_of(module):
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


def _classes_of(module: ModuleType) -> list[type]:
    found = filter(inspect.isclass, vars(module).values())
    return [each for each in found if each.__module__ == module.__name__]


@cache
def _installed(group: str) -> dict[str, str]:
    return {each.name: each.value for each in entry_points(group=group)}


def _loaded(code: str) -> Callable[..., object]:
    try:
        made: Callable[..., object] = load_object(code)
    except CodeError as error:
        raise Wrong(f"is an extension, but {error}", advice="correct or uninstall it") from None
    return made


def _options(
    node: MappingNode, make: Callable[..., object], *, besides: tuple[str, ...] = ()
) -> dict[str, object]:
    """Return the values as keyword arguments of *make*, if it takes just these."""
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(make).parameters
    known = {each: one for each, one in parameters.items() if one.kind in by_name}
    required = [option for option, one in known.items() if one.default is one.empty]
    check_keys(node, (*besides, *known), required=required)
    return {option: _plain(value) for option, value in node.items() if option not in besides}


def _short(text: str, code: str) -> str:
    """Return *text* with the reference *code* in it without its folder."""
    return text.replace(code, Path(code).name)


def _plain(node: Node) -> object:
    """Return what YAML makes of a value: text, number, true or false, nothing, list, mapping."""
    if isinstance(node, MappingNode):
        return {key: _plain(value) for key, value in node.items()}
    if isinstance(node, ListNode):
        return [_plain(item) for item in node]
    return node.text if node.is_text else _unquoted(node.text)


def _unquoted(text: str) -> object:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
