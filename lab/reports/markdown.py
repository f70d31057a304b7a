"""The report as a Markdown page: `table.md`."""

from collections.abc import Iterator

from lab.reports.numbers import write, write_plain, write_spread
from lab.reports.remarks import how_to_read, remarks
from lab.reports.report import Entry, Report, Section, sections
from lab.reports.words import Words
from lab.results.verdicts import Agreement

_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|~"})


def render_markdown(report: Report, words: Words) -> str:
    """Return the title, the tables and the remarks; ends with a line break."""
    lines = [
        f"# {_plain(words.name(report.outline.title))}",
        "",
        *(line for section in sections(report, words) for line in _table(section, words)),
        *how_to_read(report, words),
        "",
        *_paragraphs([_plain(line) for line in remarks(report, words)]),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(section: Section, words: Words) -> Iterator[str]:
    if section.title:
        yield from (f"## {_plain(section.title)}", "")
    figures = len(section.headings) - section.names
    yield _line(map(_plain, section.headings))
    yield _line(["---"] * section.names + ["---:"] * figures)
    for row in section.rows:
        yield _line(_plain(as_text(cell, words)) for cell in row)
    yield ""
    if section.note:
        yield from (section.note, "")


def as_text(cell: str | Entry, words: Words, *, inside: str = "✓", outside: str = "✗") -> str:
    """Return for instance `195 ✓ (193), 192-199`."""
    if isinstance(cell, str):
        return cell
    text, ends = "" if cell.is_empty_if_missing else words.missing, ""
    if cell.spread is not None:
        text = write(cell.figure, cell.spread.median, words)
        ends = write_spread(cell.figure, cell.spread, words)
    if cell.verdict is not None:
        mark = inside if cell.verdict.agreement is Agreement.INSIDE else outside
        text += f" {mark} ({write_plain(cell.verdict.published.published, words)})"
    return text + (f", {ends}" if ends else "")


def _line(cells: Iterator[str] | list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _plain(text: str) -> str:
    """Return *text* so that Markdown shows it as it is; a leading `- ` stays a bullet."""
    return text.translate(_SPECIAL)


def _paragraphs(lines: list[str]) -> list[str]:
    """Return *lines* with an empty one wherever a list and a sentence meet."""
    spaced: list[str] = []
    for line in lines:
        if spaced and line.startswith("- ") != spaced[-1].startswith("- "):
            spaced.append("")
        spaced.append(line)
    return spaced
