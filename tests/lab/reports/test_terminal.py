import io
from pathlib import Path

import pytest
from rich.console import Console

from lab.reports import LANGUAGES, Report, TerminalReport
from tests.lab.reports.table184 import bad_report, good_report

GOLDEN = Path(__file__).parent / "golden"


def _shown(
    report: Report,
    *,
    language: str = "en",
    width: int = 120,
    encoding: str = "utf-8",
    **console: bool,
) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    made = Console(file=file, width=width, **console)  # type: ignore[arg-type]
    made.print(TerminalReport(report=report, words=LANGUAGES[language]))
    file.seek(0)
    return file.read()


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize(("language", "width"), [("en", 80), ("en", 120), ("uk", 80), ("uk", 120)])
def test_table_184_reads_well_in_both_languages_on_narrow_and_wide_terminals(
    tmp_path: Path, language: str, width: int
) -> None:
    golden = (GOLDEN / f"table184.{language}.{width}.txt").read_text(encoding="utf-8")

    shown = _shown(good_report(tmp_path), language=language, width=width)

    assert _lines(shown) == _lines(golden)
    assert max(map(len, shown.splitlines())) <= width
    assert "…" not in shown  # nothing is cut off


def test_what_is_outside_missing_left_out_or_broken_is_told_below_the_table(
    tmp_path: Path,
) -> None:
    shown = _shown(bad_report(tmp_path), width=300)

    fresh, stale = ("nothing fails, so every reply is fresh", "nothing fails, so no reply is stale")
    assert _lines(shown)[-11:] == [
        "Each cell: runs 5, requests a run 200.",
        "- none / raw: runs 4, requests a run 200",
        "- none / raw: runs that do not count: 1; saturated",
        "3 of 8 published figures are not inside their bands:",
        f"- none / resilient, Fresh: 197, band 200 to 200, published 200 ({fresh})",
        f"- none / resilient, Stale: 1, band 0 to 0, published 0 ({stale})",
        "- none / resilient, Mean, ms: not available, band 0 to 12, published 3",
        "3 of 4 checks of expectations do not hold:",
        "- none / resilient, Fresh: 98.5 %, expected == 100 %",
        "- none / resilient, Error: 1 %, expected == 0 %",
        "- none / resilient, Mean, ms: n/a, expected < 50",
    ]


def test_a_piped_report_has_no_control_characters(tmp_path: Path) -> None:
    assert "\x1b" not in _shown(bad_report(tmp_path))


def test_without_colour_a_verdict_is_still_told_by_its_mark(tmp_path: Path) -> None:
    coloured = _shown(bad_report(tmp_path), force_terminal=True)
    plain = _shown(bad_report(tmp_path), force_terminal=True, no_color=True)

    assert "\x1b[1;31m ✗" in coloured
    assert "[1;31m" not in plain
    assert "197\x1b[1m ✗" in plain


def test_a_terminal_without_such_characters_shows_words(tmp_path: Path) -> None:
    shown = _shown(bad_report(tmp_path), encoding="ascii")

    assert "197 OUT (200)" in shown
    assert "200 ok (200)" in shown


def test_markup_in_names_is_shown_as_it_is(tmp_path: Path) -> None:
    assert _lines(_shown(bad_report(tmp_path)))[0] == "A *bad* [red]run[/red] | 1 < 2"
