"""From a reply to its ending: pure, so that what counts as an error stands in one place.

The decision is taken in two steps: all that the head settles once a head, the rest once a body.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import orjson

from loadgen.bodies import BodyError, decoded
from loadgen.code import describe
from loadgen.endings import Ending, Endings, fault_of
from loadgen.outcomes import (
    ERROR_CLASS,
    BodyPatternRule,
    CodeRule,
    HeaderRule,
    JsonFieldRule,
    OutcomeRule,
    Reply,
    StatusRule,
)

BodyJudge = Callable[[bytes], int]  # a whole body as it came -> the code of the ending
RULE_FAILED = "the outcome rule failed"


class _Head(NamedTuple):
    """What the head of a reply contributes to its ending."""

    endings: Endings
    status: int
    fault: str

    def code(self, outcome: str, error: str = "") -> int:
        return self.endings.code(Ending(outcome, self.status, error, self.fault))

    def error(self, error: str) -> int:
        return self.code(ERROR_CLASS, error)


class Classifier:
    """Judges replies by one rule; endings are told by their codes in *endings*."""

    def __init__(self, rule: OutcomeRule, endings: Endings) -> None:
        self.reads_bodies = isinstance(rule, JsonFieldRule | BodyPatternRule | CodeRule)
        # Names in lower case; None: any of them, as code of a user's own may look at it.
        self.decisive_headers: frozenset[bytes] | None = frozenset()
        if isinstance(rule, CodeRule):
            self.decisive_headers = None
        elif isinstance(rule, HeaderRule):
            self.decisive_headers = frozenset({rule.header.lower().encode()})
        self._rule = rule
        self._endings = endings
        if isinstance(rule, BodyPatternRule):
            self._patterns = [
                (name, re.compile(pattern.encode())) for name, pattern in rule.patterns.items()
            ]

    def judge_of(self, status: int, headers: Mapping[bytes, bytes]) -> BodyJudge:
        """Return what judges the bodies under such a head.

        Args:
            status: final, 200 to 599.
            headers: values by name in lower case.
        """
        rule, head = self._rule, _Head(self._endings, status, fault_of(headers))
        if isinstance(rule, StatusRule):
            return _always(_by_status(head, rule))
        encoding = headers.get(b"content-encoding", b"identity").strip().lower()
        if isinstance(rule, CodeRule):
            judge = _by_code(head, headers, rule)
            return judge if encoding == b"identity" else _decoding(encoding, head, judge)
        if not 200 <= status < 300:  # noqa: PLR2004 - the range of success in RFC 9110
            return _always(head.error(f"status {status}"))
        if isinstance(rule, HeaderRule):
            return _always(_by_header(head, headers, rule))
        judge = _by_json(head, rule) if isinstance(rule, JsonFieldRule) else self._by_pattern(head)
        return judge if encoding == b"identity" else _decoding(encoding, head, judge)

    def _by_pattern(self, head: _Head) -> BodyJudge:
        tried = [(pattern.search, head.code(name)) for name, pattern in self._patterns]
        nothing = head.error("no pattern occurs in the body")

        def judge(body: bytes) -> int:
            return next((code for search, code in tried if search(body)), nothing)

        return judge


def _always(code: int) -> BodyJudge:
    return lambda _: code


def _decoding(encoding: bytes, head: _Head, judge: BodyJudge) -> BodyJudge:
    def decode_and_judge(body: bytes) -> int:
        try:
            return judge(decoded(body, encoding))
        except BodyError as problem:
            return head.error(str(problem))

    return decode_and_judge


def _by_status(head: _Head, rule: StatusRule) -> int:
    status = head.status
    name = rule.statuses.get(str(status)) or rule.statuses.get(f"{status // 100}xx")
    return head.code(name) if name else head.error(f"status {status}")


def _by_header(head: _Head, headers: Mapping[bytes, bytes], rule: HeaderRule) -> int:
    value = headers.get(rule.header.lower().encode())
    if value is None:
        return head.error(f"no header {rule.header!r}")
    text = value.decode("latin-1").strip()
    return head.code(text) if text in rule.classes else head.error(_unknown(text, rule.header))


def _by_json(head: _Head, rule: JsonFieldRule) -> BodyJudge:
    """Return a judge that parses the whole of each body: half of one must not count as a reply.

    Of a name that is given twice the last value counts, as in Python's own reader of JSON.
    """
    field = rule.json_field
    codes = {name: head.code(name) for name in rule.classes}
    loads = orjson.loads
    last_body: bytes | None = None
    last_code = 0

    def judge(body: bytes) -> int:
        nonlocal last_body, last_code
        if body != last_body:  # to parse the same again would say the same
            try:
                last_code = codes[loads(body)[field]]
            except (ValueError, TypeError, LookupError):
                last_code = head.error(_json_error(body, field))
            last_body = body
        return last_code

    return judge


def _by_code(head: _Head, headers: Mapping[bytes, bytes], rule: CodeRule) -> BodyJudge:
    texts = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}
    codes = {name: head.code(name) for name in rule.classes}
    classify = rule.made.classify

    def judge(body: bytes) -> int:
        try:
            name = classify(Reply(head.status, texts, body))
            code = codes.get(name)
        except Exception as problem:  # noqa: BLE001 - whatever a user's code does
            return head.error(f"{RULE_FAILED}: {describe(problem)}")
        if code is None:
            return head.error(_unknown(str(name), "the outcome"))
        return code

    return judge


def _json_error(body: bytes, field: str) -> str:
    try:
        document = orjson.loads(body)
    except ValueError:
        return "body is not JSON"
    if not isinstance(document, dict) or field not in document:
        return f"no field {field!r} in the body"
    return _unknown(str(document[field]), field)


def _unknown(value: str, what: str) -> str:
    return f"{what} is {value[:40]!r}, not a known class"
