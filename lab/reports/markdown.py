"""The report as a Markdown page: `table.md`."""

from lab.reports.content import Entry, Report, Row
from lab.reports.numbers import write, write_plain, write_spread
from lab.reports.remarks import remarks
from lab.reports.wording import Words
from lab.verdicts import Agreement

_MARKS = {Agreement.INSIDE: "✓", Agreement.OUTSIDE: "✗", Agreement.NOT_AVAILABLE: "✗"}
_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|~"})


def render_markdown(report: Report, words: Words) -> str:
    """Return the title, the table and the remarks; ends with a line break."""
    headings = [words.fault, words.client, *map(words.heading, report.figures)]
    lines = [
        f"# {plain_text(words.name(report.title))}",
        "",
        table_line([plain_text(heading) for heading in headings]),
        table_line(["---", "---", *("---:" for _ in report.figures)]),
        *(table_line(_row(row, words)) for row in report.rows()),
        "",
        words.how_to_read,
        "",
        *paragraphs([plain_text(line) for line in remarks(report, words)]),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def table_line(cells: list[str]) -> str:
    """Return one line of a table."""
    return "| " + " | ".join(cells) + " |"


def _row(row: Row, words: Words) -> list[str]:
    names = (row.summary.fault, row.summary.client)
    entries = [_entry(entry, words) for entry in row.entries]
    return [*(plain_text(words.name(name)) for name in names), *entries]


def _entry(entry: Entry, words: Words) -> str:
    """Return for instance `195 ✓ (193), 192-199`."""
    parts = [words.missing] if entry.spread is None else []
    ends = ""
    if entry.spread is not None:
        parts.append(write(entry.figure, entry.spread.median, words))
        ends = write_spread(entry.figure, entry.spread, words)
    if entry.verdict is not None:
        published = write_plain(entry.verdict.published.published, words)
        parts.append(f"{_MARKS[entry.verdict.agreement]} ({published})")
    return " ".join(parts) + (f", {ends}" if ends else "")


def plain_text(text: str) -> str:
    """Return *text* so that Markdown shows it as it is; a leading `- ` stays a bullet."""
    return text.translate(_SPECIAL)


def paragraphs(lines: list[str]) -> list[str]:
    """Return *lines* with an empty one wherever a list and a sentence meet."""
    spaced: list[str] = []
    for line in lines:
        if spaced and line.startswith("- ") != spaced[-1].startswith("- "):
            spaced.append("")
        spaced.append(line)
    return spaced
