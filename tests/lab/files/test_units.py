from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.files.errors import Wrong
from lab.files.units import duration_s, mebibytes, share


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", "0.5"),
        ("500 ms", "0.5"),
        ("1.5 s", "1.5"),
        (".5s", "0.5"),
        ("2 min", "120"),
        ("1 h", "3600"),
        ("24 h", "86400"),
        ("0 s", "0"),
        ("0.3ms", "0.0003"),
    ],
)
def test_a_duration_is_its_number_times_its_unit_exactly(text: str, seconds: str) -> None:
    assert duration_s(text) == Decimal(seconds)


@pytest.mark.parametrize(
    "text",
    ["", "ms", "5", "5 sec", "5 m", "-1 s", "25 h", "nan s", "inf s", "1e3 s", "1,5 s", "1 s 2 ms"],
)
def test_what_is_no_duration_is_refused_with_the_text(text: str) -> None:
    with pytest.raises(Wrong, match=r"must|unit") as raised:
        duration_s(text)

    assert text in raised.value.what


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.3", 0.3), ("30 %", 0.3), ("30%", 0.3), ("0", 0.0), ("1", 1.0), ("100 %", 1.0)],
)
def test_a_share_is_a_fraction_or_a_percentage(text: str, value: float) -> None:
    assert share(text) == value


@pytest.mark.parametrize("text", ["", "%", "1.01", "100.5 %", "-1 %", ".nan", "0.3 s", "a third"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(Wrong):
        share(text)


@given(st.integers(0, 100))
def test_a_percentage_and_its_fraction_are_the_same_share(percent: int) -> None:
    assert share(f"{percent} %") == share(str(Decimal(percent) / 100))


@pytest.mark.parametrize(
    ("text", "mib"), [("1 MiB", 1), ("256MiB", 256), ("1.5 GiB", 1536), ("1024 GiB", 1024 * 1024)]
)
def test_a_size_is_whole_mebibytes(text: str, mib: int) -> None:
    assert mebibytes(text) == mib


@pytest.mark.parametrize(
    "text", ["", "5", "5 MB", "0 MiB", "0.5 MiB", "-1 MiB", "1025 GiB", "MiB", "1e3 MiB", "nan GiB"]
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(Wrong, match="must be"):
        mebibytes(text)
