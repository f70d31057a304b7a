import string
from dataclasses import fields

import pytest

from lab.reports import LANGUAGES, Words
from lab.reports.numbers import write, write_plain, write_share, write_spread
from lab.results.summary import Spread

ENGLISH, UKRAINIAN = LANGUAGES["en"], LANGUAGES["uk"]


def _blanks(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_fills_in_the_same_blanks(language: str) -> None:
    for each in fields(Words):
        ours, english = getattr(LANGUAGES[language], each.name), getattr(ENGLISH, each.name)
        if isinstance(ours, str):
            assert _blanks(ours) == _blanks(english), each.name


def test_every_heading_has_its_translation() -> None:
    assert set(UKRAINIAN.figures) == set(ENGLISH.figures)


def test_a_name_without_translation_stays_as_it_is() -> None:
    assert UKRAINIAN.name("none") == "немає"
    assert UKRAINIAN.name("3 replies lost") == "3 replies lost"
    assert ENGLISH.heading("cached") == "cached"


@pytest.mark.parametrize(
    ("figure", "value", "text"),
    [
        ("fresh", 195, "195"),
        ("fresh", 194.5, "194.5"),
        ("error", 0.5, "0.5"),
        ("mean_ms", 0.0004, "0.00040"),
        ("mean_ms", 0.73, "0.73"),
        ("mean_ms", 9.94, "9.9"),
        ("mean_ms", 9.96, "10"),
        ("mean_ms", 505.4, "505"),
        ("requests_per_s", 0, "0"),
        ("requests_per_s", 0.04, "0.040"),
        ("requests_per_s", 0.36, "0.36"),
        ("requests_per_s", 0.3995, "0.40"),
        ("requests_per_s", 2451.4, "2451"),
        ("attempts_per_request", 1.386, "1.39"),
        ("attempts_per_request", 0, "0.00"),
        ("attempts_per_request", 0.00002, "<0.01"),
    ],
)
def test_a_figure_has_the_digits_that_it_carries(figure: str, value: float, text: str) -> None:
    assert write(figure, value, ENGLISH) == text
    assert write(figure, value, UKRAINIAN) == text.replace(".", ",")


def test_a_spread_whose_ends_read_the_same_is_left_out() -> None:
    assert write_spread("mean_ms", Spread(median=12, low=11.9, high=12.1), ENGLISH) == ""
    assert write_spread("mean_ms", Spread(median=12, low=11, high=13), ENGLISH, dash="-") == "11-13"


def test_shares_are_in_percent_and_numbers_of_a_file_as_they_stand_there() -> None:
    assert [write_share(value, UKRAINIAN) for value in (1, 0.985, 0.00125, 0.00002, 0)] == [
        "100 %",
        "98,5 %",
        "0,12 %",
        "<0,01 %",
        "0 %",
    ]
    assert [write_plain(value, UKRAINIAN) for value in (200, 0.4, 11310)] == ["200", "0,4", "11310"]
