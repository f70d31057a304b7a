"""Documents to and from JSON."""

from typing import Annotated, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from chaos.request_body import InvalidDocumentError, read_object
from fault_proxy.faults.documents import AnyFault, Renewal

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
        return kind.validate_python(read_object(body), by_alias=True, by_name=False)
    except ValidationError as error:
        raise InvalidDocumentError(
            {_field(each["loc"]): each["msg"] for each in error.errors()}
        ) from error


def _field(location: tuple[int | str, ...]) -> str:
    """Return the name of a field without the kind before it."""
    return ".".join(map(str, location[1:] or location)) or "kind"
