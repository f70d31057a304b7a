from dataclasses import replace
from pathlib import Path

import pytest

from lab.reports import LANGUAGES, Report, render_markdown
from lab.results.outline import Outline
from tests.lab.reports.table184 import bad_report, good_report

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("language", ["en", "uk"])
def test_table_184_is_a_page_with_the_same_figures(tmp_path: Path, language: str) -> None:
    golden = (GOLDEN / f"table184.{language}.md").read_text(encoding="utf-8")

    assert render_markdown(good_report(tmp_path), LANGUAGES[language]) == golden


def test_every_line_of_the_table_has_as_many_cells_as_its_head(tmp_path: Path) -> None:
    page = render_markdown(bad_report(tmp_path), LANGUAGES["en"])

    widths = {line.count(" | ") for line in page.splitlines() if line.startswith("| ")}
    assert widths == {8}


def test_names_cannot_break_the_page(tmp_path: Path) -> None:
    report = bad_report(tmp_path)
    odd = replace(report, summaries=(replace(report.summaries[0], fault="a | b <i> *c*"),))

    page = render_markdown(odd, LANGUAGES["en"])

    assert page.splitlines()[0] == r"# A \*bad\* \[red\]run\[/red\] \| 1 \< 2"
    assert r"| a \| b \<i\> \*c\* | resilient |" in page


def test_a_list_stands_apart_from_the_sentence_above_it(tmp_path: Path) -> None:
    lines = render_markdown(bad_report(tmp_path), LANGUAGES["en"]).splitlines()

    first = next(number for number, line in enumerate(lines) if line.startswith("- "))
    assert lines[first - 1] == ""


def test_a_report_without_cells_is_a_page_with_an_empty_table() -> None:
    page = render_markdown(
        Report(outline=Outline(title="Nothing ran", classes=("fresh",)), summaries=()),
        LANGUAGES["en"],
    )

    assert page.startswith("# Nothing ran\n\n| Fault | Client | Fresh |")
    assert len([line for line in page.splitlines() if line.startswith("| ")]) == 2
