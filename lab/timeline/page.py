"""A page of text tables, as Markdown and on a terminal of any width."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from lab.reports.markdown import paragraphs, plain_text, table_line

_GAP = 2  # columns between those of a table on the terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One table, all of it text."""

    title: str
    names: int  # how many columns name the row; figures are in the others
    headings: list[str]
    rows: list[list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The report in one language."""

    title: str
    sections: list[Section]
    remarks: list[str]


def _rules(section: Section) -> list[str]:
    return ["---" if n < section.names else "---:" for n in range(len(section.headings))]


def markdown(page: Page) -> str:
    """Return the page as Markdown; ends with a line break."""
    lines = [f"# {plain_text(page.title)}", ""]
    for section in page.sections:
        lines += [
            f"## {plain_text(section.title)}",
            "",
            table_line([plain_text(heading) for heading in section.headings]),
            table_line(_rules(section)),
            *(table_line([plain_text(cell) for cell in row]) for row in section.rows),
            "",
        ]
    lines += paragraphs([plain_text(line) for line in page.remarks])
    return "\n".join(lines).rstrip("\n") + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalPage:
    """What `rich.print` shows.

    A table that is too wide for the terminal becomes several with the same names, or a list where
    not even one figure fits beside these.
    """

    page: Page

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts, laid out for *options*."""
        del console
        yield Text(self.page.title, style="bold")
        for section in self.page.sections:
            yield Text("")
            yield Text(section.title, style="bold")
            parts = _parts(section, options.max_width)
            for number, part in enumerate(parts):
                yield from [Text("")] if number else []
                yield _table(part, _widths(part, options.max_width))
            yield from [] if parts else _list(section)
        yield Text("")
        yield from map(Text, self.page.remarks)


def _parts(section: Section, most: int) -> list[Section]:
    """Return the fewest sections of *most* columns that have all figures, each with the names."""
    parts: list[Section] = []
    begin, end = section.names, len(section.headings)
    while begin < end:
        part = next(
            (
                part
                for last in range(end, begin, -1)
                if _widths(part := _with_figures(section, begin, last), most)
            ),
            None,
        )
        if part is None:
            return []
        parts.append(part)
        begin += len(part.headings) - section.names
    return parts


def _with_figures(section: Section, begin: int, end: int) -> Section:
    def kept(cells: list[str]) -> list[str]:
        return cells[: section.names] + cells[begin:end]

    return replace(
        section, headings=kept(section.headings), rows=[kept(row) for row in section.rows]
    )


def _widths(section: Section, most: int) -> list[int]:
    """Return the widths of columns that need *most* together, or none if that is too little.

    A heading may be broken between its words, a figure may not.
    """
    for shortest in (section.headings, [max(each.split(), key=len) for each in section.headings]):
        columns = zip(shortest, *section.rows, strict=True)
        widths = [max(map(cell_len, column)) for column in columns]
        if sum(widths) + _GAP * len(widths) <= most:
            return widths
    return []


def _table(section: Section, widths: list[int]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, _GAP - 1, 0, 0), show_edge=False)
    for number, (heading, width) in enumerate(zip(section.headings, widths, strict=True)):
        is_name = number < section.names
        table.add_column(heading, justify="left" if is_name else "right", width=width)
    for row in section.rows:
        table.add_row(*map(Text, row))
    return table


def _list(section: Section) -> Iterator[Text]:
    """Yield the same as the table, a line a row."""
    for row in section.rows:
        names, figures = row[: section.names], row[section.names :]
        headings = section.headings[section.names :]
        told = ", ".join(f"{what}: {value}" for what, value in zip(headings, figures, strict=True))
        yield Text(" / ".join(names)).append(f"  {told}", style="dim")
