"""The positioned tree as pydantic models: what all of them share.

A model is read from a mapping of the tree, a value from whatever node stands there; pydantic
collects what is wrong. On the way up every mapping adds to its errors what only it knows: the name
of the key, its example, and the place in the file. Built in Python, the same models take values.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from lab.spec.problems import START, Problems, Wrong, nearest, unknown_key
from lab.spec.yaml_tree import ListNode, MappingNode, Node, Scalar, describe, load
from loadgen.quantities import QuantityError, show

Value = TypeVar("Value")
Model = TypeVar("Model", bound="Spec")
Loc = tuple[int | str, ...]
Parser = Callable[[Node], Any]
_MAPPING_WANTED = {"dict_type", "model_type", "model_attributes_type"}
_LIST_WANTED = {"tuple_type", "list_type"}
_OF_KEY = "[key]"  # pydantic's mark of an error in a key


def says(example: str, about: str = "", *, alias: str | None = None) -> Any:  # noqa: ANN401 - as Field
    """Return the metadata of a field that a file writes.

    Args:
        example: how its value may look, for `write e.g. key: …`.
        about: what it says, for the docs and for editors.
        alias: the key, where it is not the field's name.
    """
    return Field(alias=alias, examples=[example], description=about or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Metadata of a field that holds several: how one of them may look, and what it is called."""

    example: str
    name: str = ""  # of an item of a list; empty: as the key


@dataclass(slots=True, kw_only=True)
class Reading:
    """What validators know beside their value: pydantic's context.

    Attributes:
        path: of the file.
        extensions: kinds of faults and outcomes of a user's own.
        faults: every fault read so far with its mapping, for the pass over names.
    """

    path: Path
    extensions: Any = None  # `Extensions`
    faults: list[tuple[Any, MappingNode]] = field(default_factory=list)


def reading_of(info: ValidationInfo) -> Reading:
    """Return what validators of a file's values know beside them."""
    reading = info.context
    assert isinstance(reading, Reading)  # noqa: S101 - every file is read with one
    return reading


class Spec(BaseModel):
    """A mapping of a file, validated.

    The keys of the file are the fields by alias, but for those of `SkipJsonSchema`: `name` is the
    key under which the mapping stands, and `path` the file.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_alias=False,
        validate_by_name=True,
        loc_by_alias=False,
        allow_inf_nan=False,
        arbitrary_types_allowed=True,
    )
    others: ClassVar[str | None] = None  # the field that takes all further keys

    @classmethod
    def file_keys(cls, node: MappingNode | None = None) -> dict[str, str]:
        """Return the name of the field by each key that the file may have, here in *node*."""
        del node
        return {
            info.alias or name: name
            for name, info in cls.model_fields.items()
            if not _is_given(info) and name != cls.others
        }

    @classmethod
    def key_problems(cls, node: MappingNode, *, is_complete: bool) -> Iterable[Wrong]:
        """Yield which keys do not go together; *is_complete*: none may only be misspelt."""
        del node, is_complete
        return ()

    def value_problems(self) -> Iterable[Wrong]:
        """Yield which values, each right, do not go together."""
        return ()

    @model_validator(mode="wrap")
    @classmethod
    def _read(
        cls, value: object, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        if isinstance(value, Scalar | ListNode):
            raise Wrong(f"must be a mapping (key: value), got {describe(value)}")
        if not isinstance(value, MappingNode):
            return handler(value)
        keys = cls.file_keys(value)
        unknown = [] if cls.others else [key for key in value if key not in keys]
        found = _unknown(value, unknown, keys)
        found += [
            _details(_placed(each, value), ())
            for each in cls.key_problems(value, is_complete=not unknown)
        ]
        try:
            made = handler(cls._fields_of(value, keys, info))
        except ValidationError as error:
            meant = {nearest(key, keys) for key in unknown}
            found += cls._worded(error, value, keys, meant)
        else:
            found += [_details(_placed(each, value), ()) for each in made.value_problems()]
        if found:
            raise ValidationError.from_exception_data(cls.__name__, found)
        return made

    @classmethod
    def _fields_of(
        cls, node: MappingNode, keys: dict[str, str], info: ValidationInfo
    ) -> dict[str, object]:
        values: dict[str, object] = {field: node[key] for key, field in keys.items() if key in node}
        if cls.others:
            rest = MappingNode(node.place, {key: node[key] for key in node if key not in keys})
            rest.key_places |= {key: node.key_places[key] for key in rest}
            values[cls.others] = rest
        given: dict[str, object] = {"name": node.own_key}
        if isinstance(info.context, Reading):
            given["path"] = info.context.path
        return values | {
            name: value
            for name, value in given.items()
            if name in cls.model_fields and _is_given(cls.model_fields[name])
        }

    @classmethod
    def _worded(
        cls, error: ValidationError, node: MappingNode, keys: dict[str, str], meant: set[str | None]
    ) -> Iterator[InitErrorDetails]:
        """Yield the errors with name, next step and place; *meant* are keys that are misspelt."""
        key_of = {field: key for key, field in keys.items()}
        for each in error.errors(include_url=False):
            loc = each["loc"]
            if loc and loc[0] == cls.others:
                loc = loc[1:]
            elif loc:
                loc = (key_of.get(str(loc[0]), loc[0]), *loc[1:])
            if each["type"] == "missing" and len(loc) == 1 and loc[0] in meant:
                continue  # one mistake, one line: it is not missing as well
            wrong = _placed(_wrong(each, node, loc), node, loc)
            if wrong.name is None and loc:
                wrong.name, example = cls._called(loc, keys)
                wrong.advice = wrong.advice or f"write e.g. {example}"
            yield _details(wrong, loc)

    @classmethod
    def _called(cls, loc: Loc, keys: dict[str, str]) -> tuple[str, str]:
        """Return what the value at *loc* is called, and how it may look."""
        key = str(loc[0])
        info = cls.model_fields[keys.get(key, cls.others or key)]
        example = (info.examples or ["…"])[0]
        entry = next((each for each in info.metadata if isinstance(each, Entry)), None)
        inner = loc[:-1] if len(loc) > 2 and isinstance(loc[-1], int) else loc  # noqa: PLR2004
        if len(inner) == 1 or (isinstance(inner[-1], int) and entry is None):
            return key, f"{key}: {example}"
        if isinstance(inner[-1], int):
            assert entry is not None  # noqa: S101 - else it was returned
            return entry.name or key, entry.example
        return show(inner[-1]), f"{inner[-1]}: {entry.example if entry else '…'}"


def read(model: type[Model], node: Node, reading: Reading) -> Model:
    """Return the model that *node* is.

    Raises:
        FileError: something in it is wrong; all problems of the model.
    """
    try:
        return model.model_validate(node, context=reading)
    except ValidationError as error:
        problems = Problems(reading.path)
        for each in error.errors(include_url=False):
            wrong = _wrong(each, node, each["loc"])
            problems.add(wrong.place or START, str(wrong))
        problems.check()
        raise


def root(path: Path, model: type[Spec]) -> MappingNode:
    """Return the mapping that the file at *path* is.

    Raises:
        FileError: the file cannot be read or is no mapping.
    """
    node = load(path)
    problems = Problems(path)
    if not isinstance(node, MappingNode):
        first = next(iter(model.file_keys()))
        message = f"must be a mapping, got {describe(node)}; write e.g. {first}: …"
        problems.add(node.place, message)
    problems.check()
    assert isinstance(node, MappingNode)  # noqa: S101 - else that was raised
    return node


def is_node(value: object) -> bool:
    """Tell whether *value* comes from a file, not from Python."""
    return isinstance(value, Scalar | ListNode | MappingNode)


def reads(parse: Parser, *, schema: Any = str) -> BeforeValidator:  # noqa: ANN401
    """Return the validator of values that *parse* reads from a node.

    Args:
        parse: raises `Wrong`.
        schema: a type that says what the file may hold, for its JSON Schema.
    """
    return BeforeValidator(
        lambda value: parse(value) if is_node(value) else value, json_schema_input_type=schema
    )


def made(parse: Callable[[Any, ValidationInfo], object], *, schema: Any) -> PlainValidator:  # noqa: ANN401
    """Return the validator of values that *parse* makes of a node and what is known beside it."""
    return PlainValidator(
        lambda value, info: parse(value, info) if is_node(value) else value,
        json_schema_input_type=schema,
    )


def by_name(model: type[Spec], *, key: Any = str, nothing: str = "") -> PlainValidator:  # noqa: ANN401
    """Return the validator of models in a mapping of their names.

    Args:
        model: of each value.
        key: type of the names.
        nothing: what to say of an empty mapping; empty: it may be.
    """
    form = dict[key, model]  # type: ignore[valid-type]
    adapter = TypeAdapter(form)

    def parse(node: Node, info: ValidationInfo) -> tuple[Spec, ...]:
        if nothing and not mapping(node):
            raise Wrong(nothing)
        return tuple(adapter.validate_python(node, context=info.context).values())

    return made(parse, schema=form)


def entries(node: Node, parse: Callable[[str | int, Node], Value]) -> tuple[Value, ...]:
    """Return what *parse* makes of each key (or index) and value of a mapping (or list).

    Raises:
        ValidationError: what is wrong with all of them, each at its key or index.
    """
    found: list[Value] = []
    wrong: list[InitErrorDetails] = []
    for key, value in enumerate(node) if isinstance(node, ListNode) else mapping(node).items():
        try:
            found.append(parse(key, value))
        except ValidationError as error:
            wrong += (
                _details(_wrong(each, value, each["loc"]), (key, *each["loc"]))
                for each in error.errors(include_url=False)
            )
        except QuantityError as error:
            wrong.append(_details(error, (key,)))
    if wrong:
        raise ValidationError.from_exception_data("entries", wrong)
    return tuple(found)


def check_keys(node: MappingNode, known: Iterable[str], required: Iterable[str] = ()) -> None:
    """Refuse a mapping with keys that are not *known*, or without those *required*.

    Raises:
        ValidationError: one error per key.
    """
    keys = tuple(known)
    unknown = [key for key in node if key not in keys]
    found = _unknown(node, unknown, keys)
    meant = {nearest(key, keys) for key in unknown}
    for key in required:
        if key not in node and key not in meant:
            missing = Wrong("is missing", name=key, advice=f"write e.g. {key}: …", place=node.place)
            found.append(_details(missing, ()))
    if found:
        raise ValidationError.from_exception_data("keys", found)


def mapping(node: Node) -> MappingNode:
    """Return *node* if it has keys, else say `Wrong`."""
    if not isinstance(node, MappingNode):
        raise Wrong(f"must be a mapping (key: value), got {describe(node)}")
    return node


def sequence(node: Node) -> ListNode:
    """Return *node* if it is a list, else say `Wrong`."""
    if not isinstance(node, ListNode):
        raise Wrong(f"must be a list, got {describe(node)}")
    return node


def _is_given(info: FieldInfo) -> bool:
    return any(type(each) is SkipJsonSchema for each in info.metadata)


def _unknown(
    node: MappingNode, unknown: Iterable[str], known: Iterable[str]
) -> list[InitErrorDetails]:
    return [
        _details(unknown_key(key, known, place=node.key_places[key]), (key,)) for key in unknown
    ]


def _details(wrong: QuantityError, loc: Loc) -> InitErrorDetails:
    error = PydanticCustomError("wrong", "{error}", {"error": wrong})
    return InitErrorDetails(type=error, loc=loc, input=None)


def _wrong(error: ErrorDetails, node: Node, loc: Loc) -> Wrong:
    """Return what pydantic found in our words."""
    found = error.get("ctx", {}).get("error")
    if isinstance(found, Wrong):
        return found
    if isinstance(found, QuantityError):
        return Wrong(found.what, advice=found.advice)
    value = _at(node, loc)
    if error["type"] == "missing":
        return Wrong("is missing", place=node.place)
    if error["type"] in _LIST_WANTED:
        return Wrong(f"must be a list, got {describe(value)}")
    if error["type"] in _MAPPING_WANTED:
        return Wrong(f"must be a mapping (key: value), got {describe(value)}")
    return Wrong(f"is wrong: {error['msg']}, got {describe(value)}")


def _placed(wrong: Wrong, node: MappingNode, loc: Loc = ()) -> Wrong:
    """Give *wrong* its place, if it has none: a key, or the value at *loc*."""
    if wrong.place is None:
        parent = _at(node, loc[:-2]) if loc and loc[-1] == _OF_KEY else None
        if wrong.at:
            wrong.place = node.key_places[wrong.at]
        elif isinstance(parent, MappingNode):
            wrong.place = parent.key_places[str(loc[-2])]
        else:
            wrong.place = _at(node, loc).place
    return wrong


def _at(node: Node, loc: Loc) -> Node:
    """Return the innermost node on the way *loc*."""
    for part in loc:
        if isinstance(node, MappingNode) and part in node:
            node = node[str(part)]
        elif isinstance(node, ListNode) and isinstance(part, int):
            node = node[part]
    return node
