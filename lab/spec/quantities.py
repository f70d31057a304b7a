"""The types of single values: what a file may hold there, and what it becomes.

Each reads a node of the tree or takes a value from Python; the units are `loadgen.quantities`.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from lab.spec.models import made, reading_of, reads
from lab.spec.problems import Wrong, check_known
from lab.spec.yaml_tree import Node, Scalar, describe
from loadgen.quantities import (
    duration_s,
    mebibytes,
    positive_rate_per_s,
    seconds,
    share,
    show,
    size_bytes,
    size_bytes_per_s,
)

Value = TypeVar("Value")

MAX_REPEATS = 1000
MAX_REQUESTS = 10_000_000
MAX_TASKS = 10_000
MS_PER_S = 1000
_WHOLE = re.compile(r"[-+]?\d{1,1000}")
_NUMBER = r"\s*[0-9]*\.?[0-9]*\s*"
DURATION = Annotated[
    str, Field(pattern=rf"^{_NUMBER}(ms|s|min|h)\s*$", description="500ms, 1.5 s, 2 min, 1 h")
]
SIZE = Annotated[str, Field(pattern=rf"^{_NUMBER}(B|KiB|MiB|GiB)\s*$", description="4 KiB")]
BANDWIDTH = Annotated[
    str, Field(pattern=rf"^{_NUMBER}(B|KiB|MiB|GiB)\s*/\s*s\s*$", description="10 KiB/s")
]
MEBIBYTES = Annotated[str, Field(pattern=rf"^{_NUMBER}(MiB|GiB)\s*$", description="256 MiB")]
_PER_TIME = rf"{_NUMBER}/\s*(s|min|h)\s*"
RATE = Annotated[str, Field(pattern=f"^{_PER_TIME}$", description="50/s, 300/min")]
RAMP = Annotated[str, Field(pattern=f"^{_PER_TIME}(to {_PER_TIME})?$", description="1/s to 50/s")]
SHARE = (
    Annotated[float, Field(ge=0, le=1)]
    | Annotated[str, Field(pattern=rf"^{_NUMBER}%\s*$", description="30 %")]
)


def written(node: Node) -> str:
    """Return a scalar's text, quoted or not: a number with a unit, a bound."""
    if not isinstance(node, Scalar) or node.is_null:
        raise Wrong(f"must be a single value, got {describe(node)}")
    return node.text


def text(node: Node) -> str:
    """Return text of any number of lines; it may be empty if it is quoted."""
    if not isinstance(node, Scalar) or node.is_null:
        raise Wrong(f"must be text, got {describe(node)}")
    if not node.is_text:
        raise Wrong(f"must be text, got {describe(node)}", advice=f"quote it: {show(node.text)}")
    return node.text


def line(node: Node) -> str:
    """Return one line of text, empty only if it is quoted."""
    value = text(node)
    if "\n" in value:
        raise Wrong(f"must be one line of text, got {show(value)}", advice="remove the line break")
    return value


def name(node: Node) -> str:
    """Return one line of text with at least one visible character."""
    value = line(node)
    if not value.strip():
        raise Wrong(f"must not be empty, got {show(value)}")
    return value


def http_path(node: Node) -> str:
    """Return a path on a service, such as `/health`."""
    value = line(node)
    if not value.startswith("/") or any(character.isspace() for character in value):
        raise Wrong(f"must be a path that starts with /, got {show(value)}")
    return value


def whole(minimum: int, maximum: int) -> Callable[[Node], int]:
    """Return a parser of plain whole numbers from *minimum* to *maximum*."""

    def parse(node: Node) -> int:
        is_whole = isinstance(node, Scalar) and not node.is_text and _WHOLE.fullmatch(node.text)
        value = int(written(node)) if is_whole else None
        if value is None or value < minimum:
            raise Wrong(f"must be a whole number >= {minimum}, got {describe(node)}")
        if value > maximum:
            raise Wrong(f"must be a whole number <= {maximum}, got {describe(node)}")
        return value

    return parse


def choice(known: Iterable[str], *, kind: str) -> Callable[[Node], str]:
    """Return a parser of one of the names *known*; *kind* says what they name."""
    names = tuple(known)

    def parse(node: Node) -> str:
        value = line(node)
        check_known(value, names, kind=kind)
        return value

    return parse


def true(node: Node) -> bool:
    """Return true, the only value of a key that is there or not."""
    if isinstance(node, Scalar) and not node.is_text and node.text.lower() == "true":
        return True
    raise Wrong(f"must be true, got {describe(node)}", advice="write true, or leave it out")


def beside(named: str, folder: Path) -> Path:
    """Return the file in *folder* that is called *named*.

    Raises:
        Wrong: there is none.
    """
    path = folder / named
    try:
        if path.is_file():
            return path
        reason = "which is no file"
    except OSError as error:  # a name too long, a folder that may not be entered
        reason = f"which cannot be read ({error.strerror})"
    raise Wrong(f"names {show(named)}, {reason}", advice=f"looked for {show(str(path))}")


def _measure(parse: Callable[[str], Value]) -> Callable[[Node], Value]:
    return lambda node: parse(written(node))


def _whole_number_of(unit: str, per_s: int) -> Callable[[Node], int]:
    def parse(node: Node) -> int:
        value = duration_s(written(node)) * per_s
        if value != int(value):
            raise Wrong(f"must be whole {unit}, got {describe(node)}")
        return int(value)

    return parse


def _key(pattern: str, refusal: Callable[[str], Wrong]) -> tuple[AfterValidator, WithJsonSchema]:
    """Return the metadata of the keys of a mapping that are free within a pattern."""

    def check(key: str) -> str:
        if not re.fullmatch(pattern, key, re.ASCII):
            raise refusal(key)
        return key

    return AfterValidator(check), WithJsonSchema({"type": "string", "pattern": f"^{pattern}$"})


def _no_word(kind: str) -> Callable[[str], Wrong]:
    def refusal(key: str) -> Wrong:
        better = re.sub(r"\W+", "_", key, flags=re.ASCII).lstrip("0123456789") or "name"
        what = f"the {kind} name {show(key)} must be letters, digits and _"
        return Wrong(what, name="", advice=f"write e.g. {better}")

    return refusal


def _no_identifier(example: str) -> Callable[[str], Wrong]:
    def refusal(key: str) -> Wrong:
        what = f"{show(key)} is no name of letters, digits, _ and -"
        return Wrong(what, name="", advice=f"rename it, e.g. {example}")

    return refusal


def _not_load(key: str) -> str:
    if key == "load":
        raise Wrong(
            f"has {show(key)}, which is the load generator",
            name="services",
            advice="give the service another name",
        )
    return key


def _header_value(node: Node) -> str:
    value = line(node)
    if not value.isascii() or value != value.strip():
        raise Wrong(f"must be ASCII without spaces around it, got {show(value)}")
    return value


def _header_name(key: str) -> str:
    if key.lower() in {"content-length", "transfer-encoding", "connection"}:
        raise Wrong(f"{show(key)} is set by the load generator", name="", advice="leave it out")
    return key


def whole_number(minimum: int, maximum: int) -> BeforeValidator:
    """Return the validator of whole numbers in a range."""
    limits = Annotated[int, Field(ge=minimum, le=maximum)]
    return reads(whole(minimum, maximum), schema=limits)


def one_of(known: Iterable[str], *, kind: str, schema: object) -> BeforeValidator:
    """Return the validator of a choice; *schema* is the literal type of it."""
    return reads(choice(known, kind=kind), schema=schema)


to_share = _measure(share)
to_whole_ms = _whole_number_of("milliseconds", MS_PER_S)
to_whole_s = _whole_number_of("seconds", 1)
to_bytes = _measure(size_bytes)
to_bytes_per_s = _measure(size_bytes_per_s)
to_seconds = _measure(seconds)

Text = Annotated[str, reads(text)]
Line = Annotated[str, reads(line)]
Name = Annotated[str, reads(name, schema=Annotated[str, Field(min_length=1)])]
HttpPath = Annotated[str, reads(http_path, schema=Annotated[str, Field(pattern=r"^/\S*$")])]
Seconds = Annotated[float, reads(to_seconds, schema=DURATION)]  # more than 0
Moment = Annotated[float, reads(_measure(lambda each: float(duration_s(each))), schema=DURATION)]
Share = Annotated[float, reads(to_share, schema=SHARE)]
Rate = Annotated[float, reads(_measure(positive_rate_per_s), schema=RATE)]
Mebibytes = Annotated[int, reads(_measure(mebibytes), schema=MEBIBYTES)]
RequestCount = Annotated[int, whole_number(1, MAX_REQUESTS)]
TaskCount = Annotated[int, whole_number(1, MAX_TASKS)]
Repeats = Annotated[int, whole_number(1, MAX_REPEATS)]
Warmup = Annotated[int, whole_number(0, MAX_REPEATS)]
BesideFile = Annotated[
    Path, made(lambda node, info: beside(name(node), reading_of(info).path.parent), schema=str)
]
ServiceName = Annotated[
    str, AfterValidator(_not_load), *_key(r"[A-Za-z_][\w-]*", _no_word("service"))
]
VariableName = Annotated[str, *_key(r"[A-Za-z_]\w*", _no_word("variable"))]
RequestName = Annotated[str, *_key(r"[A-Za-z_][\w-]*", _no_identifier("browse"))]
SettingName = Annotated[str, *_key(r"[A-Za-z_][\w-]*", _no_identifier("retries"))]
HeaderName = Annotated[
    str,
    AfterValidator(_header_name),
    *_key(
        r"[!#$%&'*+.^_`|~0-9A-Za-z-]+",
        lambda key: Wrong(
            f"{show(key)} is no header name", name="", advice="write e.g. accept-language"
        ),
    ),
]
HeaderValue = Annotated[str, reads(_header_value)]
Headers = dict[HeaderName, HeaderValue]
