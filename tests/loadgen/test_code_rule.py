"""Outcome rules of a user's own."""

import gzip
from pathlib import Path

import pytest

from loadgen import CodeRule
from loadgen.classify import Classifier
from loadgen.code import CodeError, load_object
from loadgen.endings import Endings
from loadgen.outcomes import rule_from_document, rule_to_document

CODE = """\
class Long:
    classes = ("long", "short")
    def __init__(self, limit):
        self.limit = limit
    def classify(self, reply):
        if reply.status == 204:
            raise LookupError("nothing\\nto measure")
        if reply.headers.get("x-odd"):
            return ["odd"]
        if reply.status != 200:
            return "error"
        return "long" if len(reply.body) > self.limit else "short"
"""


@pytest.fixture
def rule(tmp_path: Path) -> CodeRule:
    (tmp_path / "own.py").write_text(CODE)
    return CodeRule(code=f"{tmp_path / 'own.py'}:Long", options={"limit": 3})


@pytest.mark.parametrize(
    ("status", "headers", "body", "ending"),
    [
        (200, {}, b"abc", ("short", "", "")),
        (200, {b"x-chaos": b"delay"}, b"abcd", ("long", "", "delay")),
        (200, {b"content-encoding": b"gzip"}, gzip.compress(b"abc", mtime=0), ("short", "", "")),
        (200, {b"content-encoding": b"gzip"}, b"abc", ("error", "body is not gzip", "")),
        (500, {}, b"", ("error", "the outcome is 'error', not a known class", "")),
        (
            204,
            {},
            b"",
            ("error", "the outcome rule failed: own.py:7: LookupError: nothing to measure", ""),
        ),
        (
            200,
            {b"x-odd": b"1"},
            b"",
            ("error", "the outcome rule failed: classify.py", ""),
        ),
    ],
)
def test_a_reply_is_of_the_class_that_the_code_says(
    rule: CodeRule,
    status: int,
    headers: dict[bytes, bytes],
    body: bytes,
    ending: tuple[str, str, str],
) -> None:
    endings = Endings()

    code = Classifier(rule, endings).judge_of(status, headers)(body)

    found = list(endings)[code]
    assert (found.outcome, found.fault) == (ending[0], ending[2])
    assert found.error.startswith(ending[1])
    assert bool(found.error) == bool(ending[1])


def test_it_comes_back_from_its_document_in_another_process(rule: CodeRule) -> None:
    document = rule_to_document(rule)

    assert document == {"code": rule.code, "options": {"limit": 3}}
    assert rule_from_document(document) == rule


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("Lng", {}, r"own\.py has no 'Lng'; correct the name"),
        ("Long", {}, r"own\.py:Long refuses its options: .*TypeError"),
    ],
)
def test_what_cannot_be_made_is_refused(
    rule: CodeRule, name: str, options: dict[str, object], said: str
) -> None:
    with pytest.raises(CodeError, match=said):
        CodeRule(code=rule.code.replace("Long", name), options=options)


def test_a_reference_may_name_a_module_that_is_installed() -> None:
    assert load_object("pathlib:Path") is Path
    with pytest.raises(CodeError, match="no_such_module cannot be imported: ModuleNotFoundError"):
        load_object("no_such_module:Name")
