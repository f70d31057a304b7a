"""From a reply to its ending: pure, so that what counts as an error stands in one place.

The decision is taken in two steps: all that the head settles once a head, the rest once a body.
"""

import re
from collections.abc import Callable, Mapping

import orjson

from loadgen.bodies import BodyError, decoded
from loadgen.endings import Ending, Endings
from loadgen.outcomes import (
    ERROR_CLASS,
    BodyPatternRule,
    HeaderRule,
    JsonFieldRule,
    OutcomeRule,
    StatusRule,
)

BodyJudge = Callable[[bytes], int]  # a whole body as it came -> the code of the ending
LONG_BODY_BYTES = 4096  # above it, JSON is searched for the field before it is parsed


class Classifier:
    """Judges replies by one rule; endings are told by their codes in *endings*."""

    def __init__(self, rule: OutcomeRule, endings: Endings) -> None:
        self.reads_bodies = isinstance(rule, JsonFieldRule | BodyPatternRule)
        self._rule = rule
        self._endings = endings
        if isinstance(rule, JsonFieldRule):
            self._long_json = _leading_members(rule.json_field)
        elif isinstance(rule, BodyPatternRule):
            self._patterns = [
                (name, re.compile(pattern.encode())) for name, pattern in rule.patterns.items()
            ]

    def judge_of(self, status: int, headers: Mapping[bytes, bytes]) -> BodyJudge:
        """Return what judges the bodies under such a head.

        Args:
            status: final, 200 to 599.
            headers: values by name in lower case.
        """
        rule = self._rule
        if isinstance(rule, StatusRule):
            return self._always(_by_status(status, rule))
        if not 200 <= status < 300:  # noqa: PLR2004 - the range of success in RFC 9110
            return self._always(Ending(ERROR_CLASS, status, f"status {status}"))
        if isinstance(rule, HeaderRule):
            return self._always(_by_header(status, headers, rule))
        judge = self._by_json(status, rule) if isinstance(rule, JsonFieldRule) else None
        judge = judge or self._by_pattern(status)
        encoding = headers.get(b"content-encoding", b"identity").strip().lower()
        return judge if encoding == b"identity" else self._decoding(encoding, status, judge)

    def _always(self, ending: Ending) -> BodyJudge:
        code = self._endings.code(ending)
        return lambda _: code

    def _by_json(self, status: int, rule: JsonFieldRule) -> BodyJudge:
        field = rule.json_field
        codes = {name: self._endings.code(Ending(name, status)) for name in rule.classes}
        loads = orjson.loads

        def judge(body: bytes) -> int:
            if len(body) > LONG_BODY_BYTES and (code := search(body)) is not None:
                return code
            try:
                return codes[loads(body)[field]]
            except (ValueError, TypeError, LookupError):
                return self._endings.code(_json_error(body, status, field))

        def search(body: bytes) -> int | None:
            found = self._long_json.match(body)
            return codes.get(found[1].decode(errors="replace")) if found else None

        return judge

    def _by_pattern(self, status: int) -> BodyJudge:
        tried = [
            (pattern.search, self._endings.code(Ending(name, status)))
            for name, pattern in self._patterns
        ]
        nothing = self._endings.code(Ending(ERROR_CLASS, status, "no pattern occurs in the body"))

        def judge(body: bytes) -> int:
            return next((code for search, code in tried if search(body)), nothing)

        return judge

    def _decoding(self, encoding: bytes, status: int, judge: BodyJudge) -> BodyJudge:
        def decode_and_judge(body: bytes) -> int:
            try:
                return judge(decoded(body, encoding))
            except BodyError as problem:
                return self._endings.code(Ending(ERROR_CLASS, status, str(problem)))

        return decode_and_judge


def _by_status(status: int, rule: StatusRule) -> Ending:
    name = rule.statuses.get(str(status)) or rule.statuses.get(f"{status // 100}xx")
    return Ending(name, status) if name else Ending(ERROR_CLASS, status, f"status {status}")


def _by_header(status: int, headers: Mapping[bytes, bytes], rule: HeaderRule) -> Ending:
    value = headers.get(rule.header.lower().encode())
    if value is None:
        return Ending(ERROR_CLASS, status, f"no header {rule.header!r}")
    text = value.decode("latin-1").strip()
    return _named(text, rule.classes, status, what=rule.header)


def _named(value: str, classes: tuple[str, ...], status: int, *, what: str) -> Ending:
    if value in classes:
        return Ending(value, status)
    return Ending(ERROR_CLASS, status, f"{what} is {value[:40]!r}, not a known class")


def _json_error(body: bytes, status: int, field: str) -> Ending:
    try:
        document = orjson.loads(body)
    except ValueError:
        return Ending(ERROR_CLASS, status, "body is not JSON")
    if not isinstance(document, dict) or field not in document:
        return Ending(ERROR_CLASS, status, f"no field {field!r} in the body")
    return _named(str(document[field]), (), status, what=field)


def _leading_members(field: str) -> "re.Pattern[bytes]":
    """Return a pattern for an object with the string *field* among its leading scalar members.

    It walks whole members from the object's opening brace, so that what it finds is a field at the
    top and no look-alike in a nested object or a string. The rest of the body is only required to
    end like an object: parsing it is what the search saves.
    """
    string = rb'"[^"\\\x00-\x1f]*+"'
    scalar = rb"(?:" + string + rb"|-?[0-9][0-9.eE+-]*+|true|false|null)"
    member = string + rb"\s*+:\s*+" + scalar + rb"\s*+,\s*+"
    name = re.escape(orjson.dumps(field))
    wanted = name + rb'\s*+:\s*+"([^"\\\x00-\x1f]*+)"\s*+[,}]'
    return re.compile(
        rb"\s*+\{\s*+(?:(?!" + name + rb")" + member + rb")*+" + wanted + rb"(?s:.*)\}\s*\Z"
    )
