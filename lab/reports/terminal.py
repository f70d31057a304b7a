"""The report on the terminal, wide or narrow, with colours or without."""

import io
from collections.abc import Iterator
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from lab.reports.content import Entry, Report
from lab.reports.numbers import write, write_plain, write_spread
from lab.reports.remarks import remarks
from lab.reports.tables import SmallTable, small_tables
from lab.reports.wording import Words
from lab.verdicts import Agreement

_NARROW = 76  # columns below which a table would lose digits: a list then
_WIDE = 110  # columns from which a median and its published figure stand side by side
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
    """What `rich.print` shows: the table, then the remarks.

    Each figure is its median with a verdict, the published figure beside it (under it, where the
    terminal is narrow) and the spread below. Marks differ in shape as well as in colour, and are
    words where the terminal has no such characters.
    """

    report: Report
    words: Words

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts, laid out for *options*."""
        del console
        signs = _signs(self.words, ascii_only=options.ascii_only)
        yield Text(self.words.name(self.report.title), style="bold")
        between = " " if options.max_width >= _WIDE else "\n"
        yield Text("")
        if not self.report.is_sweep_only:
            if options.max_width < _NARROW:
                yield from _list(self.report, self.words, signs)
            else:
                yield _table(self.report, self.words, signs, between=between)
            yield Text("")
        for table in small_tables(self.report, self.words):
            yield from _small(table)
        yield Text(self.words.how_to_read, style="dim")
        for line in remarks(self.report, self.words):
            yield Text(line)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signs:
    inside: str
    outside: str
    dash: str

    def of(self, agreement: Agreement) -> str:
        return self.inside if agreement is Agreement.INSIDE else self.outside


def _signs(words: Words, *, ascii_only: bool) -> _Signs:
    if ascii_only:
        return _Signs(inside=words.inside, outside=words.outside, dash="-")
    return _Signs(inside="✓", outside="✗", dash="–")  # noqa: RUF001 - joins the ends of a range


def _table(report: Report, words: Words, signs: _Signs, *, between: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column(words.fault, min_width=8, overflow="fold")
    table.add_column(words.client, min_width=8, overflow="fold")
    for figure in report.figures:
        table.add_column(words.heading(figure), justify="right", overflow="fold")
    for row in report.rows():
        names = (words.name(row.summary.fault), words.name(row.summary.client))
        figures = (_entry(entry, words, signs, between=between) for entry in row.entries)
        table.add_row(*(Text(name) for name in names), *figures)
    return table


def _small(small: SmallTable) -> Iterator[Table | Text]:
    yield Text(small.title, style="bold")
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for place, heading in enumerate(small.headings):
        justify: JustifyMethod = "left" if place < small.names else "right"
        table.add_column(heading, justify=justify, overflow="fold")
    for row in small.rows:
        table.add_row(*map(Text, row))
    yield table
    if small.note:
        yield Text(small.note, style="dim")
    yield Text("")


def _list(report: Report, words: Words, signs: _Signs) -> Iterator[Text]:
    """Yield the same as the table, a line a figure."""
    for row in report.rows():
        names = (words.name(row.summary.fault), words.name(row.summary.client))
        yield Text(" / ".join(names), style="bold")
        for entry in row.entries:
            figure = _entry(entry, words, signs, between=" ")
            heading = Text(f"  {words.heading(entry.figure)}: ".replace("/ ", "/"))
            yield heading.append_text(Text(" ").join(figure.split("\n")))


def _entry(entry: Entry, words: Words, signs: _Signs, *, between: str) -> Text:
    """Return median and mark, *between*, the published figure; then a line with the spread."""
    if entry.spread is None:
        text, ends = Text(words.missing), ""
    else:
        text = Text(write(entry.figure, entry.spread.median, words))
        ends = write_spread(entry.figure, entry.spread, words, dash=signs.dash)
    if entry.verdict is not None:
        agreement = entry.verdict.agreement
        published = write_plain(entry.verdict.published.published, words)
        text.append(f" {signs.of(agreement)}", style=_STYLES[agreement])
        text.append(f"{between}({published})", style="dim")
    return text.append(f"\n{ends}" if ends else "", style="dim")
