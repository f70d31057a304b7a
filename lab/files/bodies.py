"""The `body` of a request: text, a file, or a template filled from the rows of a table."""

import csv
import io
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.files.beside import beside
from lab.files.errors import START, Place, Problems, Wrong, show, suggest
from lab.files.fields import Fields
from lab.files.scalars import text, whole
from lab.files.source import read_text
from lab.files.tree import MappingNode, Node

BODY_EXAMPLE = "'{\"amount\": 100}'"
MAX_BYTES = 8_000_000  # of all bodies of a request together
_MAX_SEED = 10**9
_TEMPLATE_EXAMPLE = '\'{"id": "{{id}}"}\''
_VALUE = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")


def read_bodies(node: Node, problems: Problems) -> tuple[str, ...]:
    """Return the bodies that are sent in turn, at least one.

    Raises:
        FileError: a file that the body names cannot be read.
    """
    if not isinstance(node, MappingNode):
        return (text(node),)
    fields = Fields(node, problems, keys=("file", "template", "values", "shuffle"))
    template = _template(fields, problems)
    if template is None or fields.has_unknown:
        return ("",)
    if "values" not in fields:
        _check_plain(fields)
        return (template,)
    table = fields.read(
        "values", lambda node: beside(problems.path, node), example="orders.csv", default=None
    )
    seed = fields.read("shuffle", whole(0, _MAX_SEED), example="7", default=None)
    if table is None:
        return ("",)
    bodies = _filled(template, _rows(table), table)
    return tuple(bodies if seed is None else random.Random(seed).sample(bodies, len(bodies)))


def _template(fields: Fields, problems: Problems) -> str | None:
    """Return the text that the body is, or is made from; None if it could not be read."""
    if ("file" in fields) == ("template" in fields):
        got = "both" if "file" in fields else "neither"
        if fields.has_unknown:
            return None
        advice = f"write e.g. body: {{template: {_TEMPLATE_EXAMPLE}, values: orders.csv}}"
        raise Wrong(f"must have either file or template, got {got}", advice=advice)
    if "template" in fields:
        return fields.read("template", text, example=_TEMPLATE_EXAMPLE, default=None)
    return fields.read(
        "file",
        lambda node: read_text(beside(problems.path, node)),
        example="order.json",
        default=None,
    )


def _check_plain(fields: Fields) -> None:
    if "template" in fields:
        raise Wrong("has a template without values", advice="add e.g. values: orders.csv")
    if "shuffle" in fields:
        raise Wrong("shuffles nothing", advice="add e.g. values: orders.csv, or remove shuffle")


def _rows(path: Path) -> list[Mapping[str, str]]:
    """Return the rows of a table, each by the names of its first line."""
    problems = Problems(path)
    lines = csv.reader(io.StringIO(read_text(path)), strict=True)
    rows: list[Mapping[str, str]] = []
    try:
        header = next(lines, [])
        if not header or not all(header) or len(set(header)) != len(header):
            message = (
                f"the header is {show(','.join(header))}; write distinct names, e.g. id,amount"
            )
            problems.add(START, message)
            problems.check()
        for cells in lines:
            if len(cells) == len(header):
                rows.append(dict(zip(header, cells, strict=True)))
            elif cells:
                message = f"{len(cells)} cells instead of {len(header)}; quote commas in text"
                problems.add(Place(line=lines.line_num, column=1), message)
    except csv.Error as error:
        place = Place(line=max(lines.line_num, 1), column=1)
        problems.add(place, f"no CSV ({error}); fix the quotes")
    problems.check()
    if not rows:
        problems.add(START, "there is no row of values; write at least one below the header")
    problems.check()
    return rows


def _filled(template: str, rows: Sequence[Mapping[str, str]], path: Path) -> list[str]:
    """Return the template with each row's values in place of `{{name}}`, as they stand."""
    used = _VALUE.findall(template)
    for one in used:
        if one not in rows[0]:
            what = f"has {show('{{' + one + '}}')}, which is no column of {path.name}"
            raise Wrong(what, advice=suggest(one, rows[0]))
    if not used:
        names = ", ".join("{{" + each + "}}" for each in rows[0])
        raise Wrong(f"has none of the values of {path.name}", advice=f"write one of {names}")
    bodies: list[str] = []
    size = 0
    for row in rows:
        bodies.append(_fill(template, row))
        size += len(bodies[-1].encode())
        if size > MAX_BYTES:
            what = f"comes to over {MAX_BYTES} bytes in {len(bodies)} of {len(rows)} rows"
            raise Wrong(what, advice="take fewer rows or a shorter template")
    return bodies


def _fill(template: str, row: Mapping[str, str]) -> str:
    return _VALUE.sub(lambda match: row[match[1]], template)
