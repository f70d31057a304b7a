"""Documents to and from JSON."""

import json
from collections.abc import Mapping
from typing import Annotated, Never, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from fault_proxy.faults.documents import AnyFault, Renewal


class InvalidDocumentError(ValueError):
    """The request for a fault is wrong; `fields` says what is wrong with which field."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {why}" for name, why in fields.items()))
        self.fields = dict(fields)


_Kind = TypeVar("_Kind")
_FAULT: TypeAdapter[AnyFault] = TypeAdapter(Annotated[AnyFault, Field(discriminator="kind")])
_RENEWAL: TypeAdapter[Renewal] = TypeAdapter(Renewal)


def read_fault(body: bytes) -> AnyFault:
    """Return the fault that the JSON object *body* asks for.

    Raises:
        InvalidDocumentError: an unknown kind or field, a wrong type, a value out of range, a
            field given twice, or malformed JSON.
    """
    return _validated(_FAULT, body)


def read_renewal(body: bytes) -> Renewal:
    """Return the lease asked for; `InvalidDocumentError` as for `read_fault`."""
    return _validated(_RENEWAL, body)


def as_wire(fault: AnyFault) -> dict[str, object]:
    """Return the members of the JSON object that stands for *fault*."""
    members: dict[str, object] = _FAULT.dump_python(fault, by_alias=True)
    return {"kind": members.pop("kind"), **members}


def _validated(kind: TypeAdapter[_Kind], body: bytes) -> _Kind:
    try:
        return kind.validate_python(_members(body), by_alias=True, by_name=False)
    except ValidationError as error:
        raise InvalidDocumentError(
            {_field(each["loc"]): each["msg"] for each in error.errors()}
        ) from error


def _field(location: tuple[int | str, ...]) -> str:
    """Return the name of a field without the kind before it."""
    return ".".join(map(str, location[1:] or location)) or "kind"


def _members(body: bytes) -> dict[str, object]:
    try:
        members = json.loads(
            body, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant
        )
    except InvalidDocumentError:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidDocumentError({"body": f"not JSON: {error}"}) from error
    if not isinstance(members, dict):
        raise InvalidDocumentError({"body": "must be a JSON object"})
    return members


def _refuse_constant(constant: str) -> Never:
    raise ValueError(f"{constant} is no number in JSON")


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for name, value in pairs:
        if name in members:
            raise InvalidDocumentError({name: "given more than once"})
        members[name] = value
    return members
