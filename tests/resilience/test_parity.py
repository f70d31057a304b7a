"""Every row of polly.csv in our areas is tested, or listed in departures.csv with its reason."""

import csv
import re
from pathlib import Path

HERE = Path(__file__).parent
AREAS = ("cb.", "retry.", "timeout", "http.")


def rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def ids_of_tests() -> set[str]:
    """Return the row ids that stand in a test's name or in the id of one of its parameters."""
    found: set[str] = set()
    for path in HERE.glob("test_*.py"):
        places = re.findall(r'def test_\w+|\bid="[^"]+"', path.read_text(encoding="utf-8"))
        ids = re.findall(r"(?<![a-z])(p[ts])[-_](\d{3})", " ".join(places), re.IGNORECASE)
        found |= {f"{kind.upper()}-{number}" for kind, number in ids}
    return found


def test_every_row_is_either_tested_or_a_listed_departure() -> None:
    wanted = {row["id"] for row in rows("polly.csv") if row["area"].startswith(AREAS)}
    departures = {row["id"] for row in rows("departures.csv")}
    tested = ids_of_tests()
    assert tested & departures == set()
    assert tested | departures == wanted


def test_every_departure_gives_its_reason_once() -> None:
    departures = rows("departures.csv")
    assert all(len(row["reason"]) > 40 for row in departures)
    assert len({row["id"] for row in departures}) == len(departures)
