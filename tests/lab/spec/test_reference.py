from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.spec.expectations import Names, read_reference
from lab.spec.problems import FileError
from tests.lab.spec.folder import REFERENCE

NAMES = Names(faults=("none",), clients=("raw",), classes=("fresh", "stale"))


def test_a_band_is_read_with_its_basis(tmp_path: Path) -> None:
    path = tmp_path / "published.csv"
    path.write_text(REFERENCE)

    fresh, mean = read_reference(path, NAMES)

    assert (fresh.figure, fresh.published, fresh.low, fresh.high) == ("fresh", 200, 200, 200)
    assert mean.basis == "the machine, four times slower"


@settings(max_examples=200, deadline=None)
@given(cut=st.tuples(st.integers(0, 170), st.integers(0, 20)), put=st.text(max_size=10))
def test_a_reference_with_any_piece_exchanged_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, cut: tuple[int, int], put: str
) -> None:
    start, length = cut
    path = tmp_path_factory.getbasetemp() / "published.csv"
    text = REFERENCE[:start] + put + REFERENCE[start + length :]
    path.write_text(text, encoding="utf-8", errors="replace", newline="")

    try:
        bands = read_reference(path, NAMES)
    except FileError:
        bands = ()

    assert all(band.low <= band.published <= band.high for band in bands)
