"""The report on the terminal, wide or narrow, with colours or without."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from lab.reports.markdown import as_text as cell_as_text
from lab.reports.numbers import write, write_plain, write_spread
from lab.reports.remarks import how_to_read, remarks
from lab.reports.report import Entry, Report, Section, sections
from lab.reports.words import Words
from lab.results.verdicts import Agreement

_NARROW = 76  # columns below which the main table would lose digits: a list then
_WIDE = 110  # columns from which a median and its published figure stand side by side
_GAP = 2  # between the columns of the tables below it; 1 where that makes it one table
_STYLES = {
    Agreement.INSIDE: "green",
    Agreement.OUTSIDE: "bold red",
    Agreement.NOT_AVAILABLE: "bold red",
}


def as_text(renderable: RenderableType) -> str:
    """Return what the terminal would show, in its width and colours, without the last line end."""
    terminal = Console()
    # A file of its own: even a capture writes nothing to the terminal's, which a full disk refuses.
    page = io.TextIOWrapper(io.BytesIO(), encoding=terminal.encoding)
    console = Console(file=page, width=terminal.width, force_terminal=terminal.is_terminal)
    with console.capture() as captured:
        console.print(renderable)
    return captured.get().removesuffix("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalReport:
    """What `rich.print` shows: the tables, then the remarks.

    In the main table each figure is its median with a verdict, the published figure beside it
    (under it, where the terminal is narrow) and the spread below. Marks differ in shape as well as
    in colour, and are words where the terminal has no such characters. Another table that is too
    wide becomes several with the same names, or a list where not even one figure fits beside these.
    """

    report: Report
    words: Words

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts, laid out for *options*."""
        del console
        look = _Look(self.words, options)
        yield Text(self.words.name(self.report.outline.title), style="bold")
        yield Text("")
        for section in sections(self.report, self.words):
            yield from _main(section, look) if not section.title else _titled(section, look)
            yield Text("")
        yield from (Text(line, style="dim") for line in how_to_read(self.report, self.words))
        yield from map(Text, remarks(self.report, self.words))


class _Look:
    """What a terminal can show."""

    def __init__(self, words: Words, options: ConsoleOptions) -> None:
        self.words = words
        self.width = options.max_width
        is_plain = options.ascii_only
        self.inside = words.inside if is_plain else "✓"
        self.outside = words.outside if is_plain else "✗"
        self.dash = "-" if is_plain else "–"  # noqa: RUF001 - joins the ends of a range


def _main(section: Section, look: _Look) -> Iterator[Table | Text]:
    if look.width < _NARROW:
        yield from _main_list(section, look)
        return
    between = " " if look.width >= _WIDE else "\n"
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for number, heading in enumerate(section.headings):
        if number < section.names:
            table.add_column(heading, min_width=8, overflow="fold")
        else:
            table.add_column(heading, justify="right", overflow="fold")
    for row in section.rows:
        table.add_row(*(_stacked(cell, look, between=between) for cell in row))
    yield table


def _main_list(section: Section, look: _Look) -> Iterator[Text]:
    """Yield the same as the table, a line per figure."""
    for row in section.rows:
        names, figures = row[: section.names], row[section.names :]
        yield Text(" / ".join(map(str, names)), style="bold")
        for heading, entry in zip(section.headings[section.names :], figures, strict=True):
            figure = _stacked(entry, look, between=" ")
            told = Text(f"  {heading}: ".replace("/ ", "/"))
            yield told.append_text(Text(" ").join(figure.split("\n")))


def _stacked(cell: str | Entry, look: _Look, *, between: str) -> Text:
    """Return median and mark, *between*, the published figure; then a line with the spread."""
    if isinstance(cell, str):
        return Text(cell)
    text, ends = Text(look.words.missing), ""
    if cell.spread is not None:
        text = Text(write(cell.figure, cell.spread.median, look.words))
        ends = write_spread(cell.figure, cell.spread, look.words, dash=look.dash)
    if cell.verdict is not None:
        agreement = cell.verdict.agreement
        mark = look.inside if agreement is Agreement.INSIDE else look.outside
        published = write_plain(cell.verdict.published.published, look.words)
        text.append(f" {mark}", style=_STYLES[agreement])
        text.append(f"{between}({published})", style="dim")
    return text.append(f"\n{ends}" if ends else "", style="dim")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plain:
    """A table whose cells are text."""

    headings: list[str]
    rows: list[list[str]]
    names: int
    gap: int = _GAP
    breaks_names: bool = False  # between their words


def _titled(section: Section, look: _Look) -> Iterator[Table | Text]:
    yield Text(section.title, style="bold")
    plain = _Plain(
        headings=list(section.headings),
        rows=[
            [
                cell_as_text(cell, look.words, inside=look.inside, outside=look.outside)
                for cell in row
            ]
            for row in section.rows
        ],
        names=section.names,
    )
    parts = _parts(plain, look.width) or _parts(replace(plain, breaks_names=True), look.width)
    for number, part in enumerate(parts):
        yield from [Text("")] if number else []
        yield _table(part, _widths(part, look.width))
    if not parts:
        yield from _list(plain)
    if section.note:
        yield Text(section.note, style="dim")


def _parts(whole: _Plain, most: int) -> list[_Plain]:
    """Return the fewest tables of *most* columns that have all figures, each with the names."""
    for gap in (_GAP, 1):
        if _widths(one := replace(whole, gap=gap), most):
            return [one]
    parts: list[_Plain] = []
    begin, end = whole.names, len(whole.headings)
    while begin < end:
        candidates = (_with_figures(whole, begin, last) for last in range(end, begin, -1))
        part = next((each for each in candidates if _widths(each, most)), None)
        if part is None:
            return []
        parts.append(part)
        begin += len(part.headings) - whole.names
    return parts


def _with_figures(whole: _Plain, begin: int, end: int) -> _Plain:
    def kept(cells: list[str]) -> list[str]:
        return cells[: whole.names] + cells[begin:end]

    return replace(whole, headings=kept(whole.headings), rows=[kept(row) for row in whole.rows])


def _widths(table: _Plain, most: int) -> list[int]:
    """Return the widths of columns that need *most* together, or none if that is too little.

    Headings may be broken between their words, a figure may not.
    """
    short = [_longest_word(heading) for heading in table.headings]
    columns = [[row[number] for row in table.rows] for number in range(len(table.headings))]
    for number in range(table.names if table.breaks_names else 0):
        columns[number] = [*map(_longest_word, columns[number])]
    for headings in (table.headings, short):
        widths = [
            max(map(cell_len, [heading, *column]))
            for heading, column in zip(headings, columns, strict=True)
        ]
        spare = most - sum(widths) - table.gap * len(widths) + 1  # none after the last
        if spare >= 0:
            return _with_wider_names(widths, spare, table)
    return []


def _with_wider_names(widths: list[int], spare: int, table: _Plain) -> list[int]:
    """Return the widths with the *spare* columns for names, each no wider than it needs."""
    wider = list(widths)
    for number in range(table.names):
        needed = max(cell_len(row[number]) for row in table.rows)
        more = min(spare, max(0, needed - wider[number]))
        wider[number] += more
        spare -= more
    return wider


def _longest_word(text: str) -> str:
    return max(text.split(), key=cell_len, default="")


def _table(plain: _Plain, widths: list[int]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, plain.gap - 1, 0, 0), show_edge=False)
    for number, (heading, width) in enumerate(zip(plain.headings, widths, strict=True)):
        justify = "left" if number < plain.names else "right"
        table.add_column(heading, justify=justify, width=width, overflow="fold")  # type: ignore[arg-type]
    for row in plain.rows:
        table.add_row(*map(Text, row))
    return table


def _list(plain: _Plain) -> Iterator[Text]:
    """Yield the same as the table, a line per row."""
    for row in plain.rows:
        names, figures = row[: plain.names], row[plain.names :]
        headings = plain.headings[plain.names :]
        pairs = zip(headings, figures, strict=True)
        told = ", ".join(f"{heading}: {figure}" for heading, figure in pairs if figure)
        yield Text(" / ".join(names)).append(f"  {told}", style="dim")
