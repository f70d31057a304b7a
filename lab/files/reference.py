"""Published figures and their bands: a CSV with a line a figure."""

import csv
import io
import math
from functools import partial
from pathlib import Path

from lab.experiment import ERROR_CLASS, SPEED_FIGURES, PublishedFigure
from lab.files.bounds import Names
from lab.files.errors import START, Place, Problems, Wrong, show, suggest
from lab.files.source import read_text

COLUMNS = ("fault", "client", "figure", "published", "low", "high", "basis")


def read_reference(path: Path, names: Names) -> tuple[PublishedFigure, ...]:
    """Return the published figures in the file at *path*.

    Columns: fault, client and figure name a cell's figure, `published` and the band's ends `low`
    and `high` are in the figure's unit, `basis` says how the band was chosen.

    Raises:
        FileError: the file cannot be read, names what the experiment does not have, or has a
            number that is none or a published figure outside its own band.
    """
    problems = Problems(path)
    rows = _rows(read_text(path), problems)
    seen: set[tuple[str, str, str]] = set()
    found: list[PublishedFigure] = []
    for line, row in rows:
        place = Place(line=line, column=1)
        figure = problems.attempt(
            "the row", place, partial(_figure, row, names, seen), example="", instead=None
        )
        if figure is not None:
            found.append(figure)
    problems.check()
    return tuple(found)


def _rows(text: str, problems: Problems) -> list[tuple[int, dict[str, str]]]:
    """Return (line, cells by column) of each row."""
    lines = csv.reader(io.StringIO(text), strict=True)
    rows: list[tuple[int, dict[str, str]]] = []
    try:
        header = next(lines, [])
        if tuple(header) != COLUMNS:
            expected = ",".join(COLUMNS)
            problems.add(START, f"the header is {show(','.join(header))}; write {expected}")
            return []
        for cells in lines:
            if len(cells) != len(COLUMNS):
                message = f"{len(cells)} cells instead of {len(COLUMNS)}; quote commas in text"
                problems.add(Place(line=lines.line_num, column=1), message)
            else:
                rows.append((lines.line_num, dict(zip(COLUMNS, cells, strict=True))))
    except csv.Error as error:
        problems.add(
            Place(line=max(lines.line_num, 1), column=1), f"no CSV ({error}); fix the quotes"
        )
    return rows


def _figure(row: dict[str, str], names: Names, seen: set[tuple[str, str, str]]) -> PublishedFigure:
    _check_known(row["fault"], names.faults, kind="fault")
    _check_known(row["client"], names.clients, kind="client")
    figures = (*names.classes, ERROR_CLASS, *SPEED_FIGURES)
    _check_known(row["figure"], figures, kind="figure")
    key = (row["fault"], row["client"], row["figure"])
    if key in seen:
        raise Wrong(f"gives {show(row['figure'])} of this cell again", advice="keep one of the two")
    seen.add(key)
    published, low, high = (_number(row, column) for column in ("published", "low", "high"))
    if not low <= published <= high:
        what = f"has the published {published:g} outside its own band {low:g} to {high:g}"
        raise Wrong(what, advice="widen the band or correct the figure")
    return PublishedFigure(
        fault=row["fault"],
        client=row["client"],
        figure=row["figure"],
        published=published,
        low=low,
        high=high,
        basis=row["basis"],
    )


def _check_known(value: str, known: tuple[str, ...], *, kind: str) -> None:
    if value not in known:
        raise Wrong(f"names {show(value)}, which is no {kind}", advice=suggest(value, known))


def _number(row: dict[str, str], column: str) -> float:
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Wrong(
            f"has {column} {show(row[column])}, which is no number", advice="write e.g. 200"
        )
    return value
