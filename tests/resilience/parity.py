"""Which rows of polly.csv the collected tests claim, and whether an assertion holds each claim.

A test claims a row by the row's id in its name (`…_pt_025`) or in that of a parameter (`[PT-052]`).
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

_IN_NAME = re.compile(r"(?<![a-z])p[ts]_\d{3}(?!\d)")
_IN_PARAMETER = re.compile(r"(?<![A-Z])P[TS]-\d{3}(?!\d)")
_NOT_RUN = {"skip", "skipif", "xfail"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A collected test that says it holds the row `row`."""

    row: str
    function: str
    path: Path


def claims_in(session: pytest.Session, path: Path) -> Iterator[Claim]:
    """Yield each claim of the tests that pytest collects from a file."""
    for item in pytest.Module.from_parent(session, path=path).collect():
        if isinstance(item, pytest.Function):
            for row in rows_in(item.originalname, item.name.removeprefix(item.originalname)):
                yield Claim(row=row, function=item.originalname, path=path)


def rows_in(function: str, parameters: str) -> list[str]:
    """Return the ids of rows that stand in the name of a test and in that of its parameters."""
    named = [row.upper().replace("_", "-") for row in _IN_NAME.findall(function)]
    return named + _IN_PARAMETER.findall(parameters)


def holds(function: str, source: str) -> bool:
    """Tell whether this test of a module runs for certain and asserts something that can fail.

    An assertion may stand in a function or method of the module that the test calls.
    """
    defined = {
        node.name: node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    test = defined[function]
    marks = {name for each in test.decorator_list for name in _names(each)}
    return not marks & _NOT_RUN and _asserts(test, defined, frozenset())


def _asserts(
    node: ast.AST,
    defined: dict[str, ast.FunctionDef | ast.AsyncFunctionDef],
    seen: frozenset[str],
) -> bool:
    for part in ast.walk(node):
        if isinstance(part, ast.Assert) and not isinstance(part.test, ast.Constant):
            return True
        if not isinstance(part, ast.Call):
            continue
        name = _called(part.func)
        if name == "raises":
            return True
        if name in defined and name not in seen and _asserts(defined[name], defined, seen | {name}):
            return True
    return False


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _names(node: ast.AST) -> Iterator[str]:
    return (part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute))
