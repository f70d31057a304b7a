"""JSON from and to Python values.

pydantic does the typed part and is imported when it is first needed; without it, values are those
of the `json` module.
"""

import json
import math
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain
from typing import Any, TypeVar, get_args, get_origin

import httpx

from resilience._internal.wire.sendable import check_text
from resilience.errors import InvalidBody

T = TypeVar("T")
_PLAIN = (object, dict, list)


def encode(value: object) -> bytes:
    """Return `value` as JSON in UTF-8.

    With pydantic installed, models, dataclasses, dates, decimals and the like may stand anywhere
    in it.

    Raises:
        TypeError: It has no JSON form.
        ValueError: It holds NaN or an infinity, half a surrogate pair, or itself, or is nested too
            deeply.
    """
    try:
        text = json.dumps(
            value,
            ensure_ascii=False,
            separators=(",", ":"),
            allow_nan=False,
            default=_jsonable if _has_pydantic() else None,
        )
    except RecursionError as error:
        raise ValueError("the JSON body is nested too deeply; send a flatter one") from error
    except ValueError as error:
        raise ValueError(
            f"JSON cannot say the body ({error}): it has no NaN, no infinity and nothing that "
            "holds itself; send null or text instead"
        ) from error
    check_text("json", text)
    return text.encode()


def reader_of(as_type: type[T]) -> Callable[[httpx.Response], T]:
    """Return what reads a body as `as_type`, or raises InvalidBody.

    NaN and the infinities are not JSON (RFC 8259), whatever the type. A number that no float can
    hold, such as 1e999, is JSON: `dict`, `list` and `object` refuse it, because they would make an
    infinity of it, while a type decides for itself (`float` takes the infinity; pydantic's
    `FiniteFloat`, and Decimal, refuse it).

    Args:
        as_type: A class or type form that pydantic can validate: models, dataclasses, `list[int]`
            and so on. `dict` and `list` are checked for being one and no further,
            `object` takes any JSON; these three need no pydantic.

    Raises:
        ImportError: The type needs pydantic, which is not installed.
        pydantic.errors.PydanticUserError: pydantic cannot validate the type.
    """
    if as_type in _PLAIN:
        return lambda response: _plain(response, as_type)
    if not _has_pydantic():
        raise ImportError(
            f"reading JSON as {as_type!r} needs pydantic, which is not installed; "
            "install it, or ask for dict, list or object"
        )
    return _typed(SameForm(as_type))


def _no_number(constant: str) -> float:
    raise ValueError(f"{constant} is not a number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if -math.inf < number < math.inf:
        return number
    raise ValueError(f"{digits:.20} is too large for a float")


_STRICT = json.JSONDecoder(parse_constant=_no_number)
_STRICT_AND_FINITE = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite)
_NO_NUMBERS = (b"NaN", b"Infinity")


def _body_of(response: httpx.Response) -> bytes:
    """Return the body without the byte order mark that some servers begin with (RFC 8259 8.1)."""
    return response.content.removeprefix(BOM_UTF8)


def _plain(response: httpx.Response, as_type: type[T]) -> T:
    try:
        value = _STRICT_AND_FINITE.decode(_body_of(response).decode())
    except (ValueError, RecursionError) as error:
        raise InvalidBody(response, f"it is not JSON ({error})") from error
    if not isinstance(value, as_type):
        raise InvalidBody(response, f"it is not a {as_type.__name__}")
    return value


@lru_cache(maxsize=256)  # building one costs a hundred calls
def _typed(same: "SameForm") -> Callable[[httpx.Response], Any]:
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - only when it is needed

    adapter = TypeAdapter(same.form)

    def read(response: httpx.Response) -> Any:  # noqa: ANN401 - an `as_type`
        _refuse_nan(response)
        try:
            return adapter.validate_json(_body_of(response))
        except ValidationError as error:
            raise InvalidBody(response, _first_complaint(error.errors())) from error

    return read


def _refuse_nan(response: httpx.Response) -> None:
    """Raise InvalidBody at a NaN or an infinity, which pydantic's parser lets through.

    It has no switch for that beside a setting of each model.
    """
    body = _body_of(response)
    if not any(word in body for word in _NO_NUMBERS):
        return  # nearly always, and far cheaper than parsing twice
    try:
        _STRICT.decode(body.decode())
    except (ValueError, RecursionError) as error:
        raise InvalidBody(response, f"it is not JSON ({error})") from error


def _first_complaint(complaints: Any) -> str:  # noqa: ANN401 - pydantic's own type, imported late
    first, others = complaints[0], len(complaints) - 1
    place = ".".join(map(str, first["loc"]))
    message = f"{place}: {first['msg']}" if place else str(first["msg"])
    return f"{message} (and {others} more)" if others else message


@lru_cache(maxsize=1)
def _has_pydantic() -> bool:
    try:
        import pydantic  # noqa: F401, PLC0415 - only when it is needed
    except ImportError:
        return False
    return True


def _jsonable(value: object) -> Any:  # noqa: ANN401 - what the json module knows
    from pydantic_core import (  # noqa: PLC0415 - only when it is needed
        PydanticSerializationError,
        to_jsonable_python,
    )

    try:
        return to_jsonable_python(value)
    except PydanticSerializationError as error:
        raise TypeError(f"a body cannot hold {value!r}: {error}") from error


_END = object()


class SameForm:
    """A type form that equals those made of the very same parts in the same order.

    By Python's own equality `A | B` is `B | A`, although the first that matches wins, 1 is True in
    the metadata of `Annotated`, and a list there cannot be a key at all.

    Attributes:
        form: The type form.
    """

    __slots__ = ("_ids", "_parts", "form")

    def __init__(self, form: Any) -> None:  # noqa: ANN401 - any form of type
        self.form = form
        self._parts = tuple(_parts_of(form))  # kept, so that no other object gets their ids
        self._ids = tuple(map(id, self._parts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameForm) and self._ids == other._ids

    def __hash__(self) -> int:
        return hash(self._ids)


def _parts_of(form: object) -> Iterable[object]:
    arguments = get_args(form)
    if not arguments:
        return (form,)
    inner = chain.from_iterable(map(_parts_of, arguments))
    # *tuple[int] has the parts of tuple[int].
    return (get_origin(form), getattr(form, "__unpacked__", False), *inner, _END)
