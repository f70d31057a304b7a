"""Every row of polly.csv is held by a test, or listed in departures.csv with its reason.

A departure that names a part of its row is of that part alone: a test holds the rest.
"""

import csv
from pathlib import Path

import pytest

from tests.resilience.parity import Claim, claims_in, holds, rows_in

HERE = Path(__file__).parent


def rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, restval=""))


@pytest.fixture(scope="module")
def claimed(request: pytest.FixtureRequest) -> list[Claim]:
    files = sorted(HERE.rglob("test_*.py"))
    return [each for path in files for each in claims_in(request.session, path)]


def test_every_row_is_either_tested_or_a_listed_departure(claimed: list[Claim]) -> None:
    departures = {row["id"]: row["part"] for row in rows("departures.csv")}
    tested = {claim.row for claim in claimed}
    assert {row for row, part in departures.items() if part} <= tested
    assert {row for row, part in departures.items() if not part} & tested == set()
    assert tested | departures.keys() == {row["id"] for row in rows("polly.csv")}


def test_a_part_that_is_departed_from_is_one_that_its_row_names() -> None:
    expected = {row["id"]: row["then"] for row in rows("polly.csv")}
    assert all(row["part"] in expected[row["id"]] for row in rows("departures.csv"))


def test_each_test_that_claims_a_row_runs_and_asserts(claimed: list[Claim]) -> None:
    tests = {(claim.path, claim.function) for claim in claimed}
    idle = [
        f"{path.name}::{function}"
        for path, function in sorted(tests)
        if not holds(function, path.read_text(encoding="utf-8"))
    ]
    assert len(tests) > 40
    assert idle == []


def test_every_departure_gives_its_reason_once() -> None:
    departures = rows("departures.csv")
    assert all(len(row["reason"]) > 40 for row in departures)
    assert len({row["id"] for row in departures}) == len(departures)


@pytest.mark.parametrize(
    ("function", "parameters", "found"),
    [
        ("test_a_trial_closes_it_pt_030_pt_014", "", ["PT-030", "PT-014"]),
        ("test_delays", "[PT-052]", ["PT-052"]),
        ("test_a_cancel_ps_001", "[PT-080-in-the-wait]", ["PS-001", "PT-080"]),
        ("test_attempts_123", "[attempt-123]", []),
        ("test_opt_025", "[OPT-025]", []),
        ("test_it_pt_0251", "[PT-0251]", []),
    ],
)
def test_a_claim_is_an_id_in_the_name_of_a_test(
    function: str, parameters: str, found: list[str]
) -> None:
    assert rows_in(function, parameters) == found


@pytest.mark.parametrize(
    ("source", "held"),
    [
        ("def test_x():\n    assert f() == 1", True),
        ("async def test_x():\n    async with g():\n        assert await f()", True),
        ("def test_x():\n    with pytest.raises(E):\n        f()", True),
        ("def check():\n    assert f()\ndef test_x():\n    check()", True),
        ("class S:\n    def m(self):\n        assert f()\ndef test_x():\n    S().m()", True),
        ("def test_x():\n    f()", False),
        ("def test_x():\n    assert True", False),
        ("def test_x():\n    '''assert f()'''", False),
        ("def check():\n    check()\ndef test_x():\n    check()", False),
        ("def other():\n    assert f()\ndef test_x():\n    pass", False),
        ("@pytest.mark.skip\ndef test_x():\n    assert f()", False),
        ("@pytest.mark.xfail(reason='x')\ndef test_x():\n    assert f()", False),
    ],
)
def test_a_claim_holds_if_its_test_runs_and_asserts(source: str, *, held: bool) -> None:
    assert holds("test_x", source) == held
