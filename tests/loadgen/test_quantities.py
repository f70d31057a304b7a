from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.quantities import (
    QuantityError,
    duration_s,
    mebibytes,
    positive_rate_per_s,
    ramp_per_s,
    rate_per_s,
    seconds,
    share,
    size_bytes,
    size_bytes_per_s,
)


@pytest.mark.parametrize(
    ("text", "value"),
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
def test_a_duration_is_its_number_times_its_unit_exactly(text: str, value: str) -> None:
    assert duration_s(text) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    ["", "ms", "5", "5 sec", "5 m", "-1 s", "25 h", "nan s", "inf s", "1e3 s", "1,5 s", "1 s 2 ms"],
)
def test_what_is_no_duration_is_refused_with_the_text(text: str) -> None:
    with pytest.raises(QuantityError, match=r"must|unit") as raised:
        duration_s(text)

    assert text in raised.value.what


@pytest.mark.parametrize(("read", "text"), [(seconds, "0s"), (positive_rate_per_s, "0/s")])
def test_where_nothing_makes_no_sense_it_is_refused(
    read: Callable[[str], float], text: str
) -> None:
    with pytest.raises(QuantityError, match="must be more than 0"):
        read(text)


@pytest.mark.parametrize(
    ("text", "rate"),
    [("500/s", 500), ("30 / min", 0.5), ("300/min", 5), ("1.8/h", 0.0005), ("0/s", 0)],
)
def test_a_rate_is_events_per_second(text: str, rate: float) -> None:
    assert rate_per_s(text) == rate


@pytest.mark.parametrize(
    "text", ["", "5", "5s", "5/x", "5/", "-5/s", "1/ms", "inf/s", "1000001/s", "1 KiB/s"]
)
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match=r"must|unit"):
        rate_per_s(text)


def test_a_ramp_is_two_rates_and_a_rate_is_a_ramp_that_stays() -> None:
    assert ramp_per_s("10/s to 60/min") == (10, 1)
    assert ramp_per_s("0/s to 5/s") == (0, 5)
    assert ramp_per_s("5/s") == (5, 5)
    with pytest.raises(QuantityError, match="at one end"):
        ramp_per_s("0/s to 0/min")


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.3", 0.3), ("30 %", 0.3), ("30%", 0.3), ("0", 0.0), ("1", 1.0), ("100 %", 1.0)],
)
def test_a_share_is_a_fraction_or_a_percentage(text: str, value: float) -> None:
    assert share(text) == value


@pytest.mark.parametrize("text", ["", "%", "1.01", "100.5 %", "-1 %", ".nan", "0.3 s", "a third"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(QuantityError):
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
    with pytest.raises(QuantityError, match="must be"):
        mebibytes(text)


def test_bytes_and_bytes_per_second_have_binary_units() -> None:
    assert (size_bytes("0 B"), size_bytes("1.5 KiB"), size_bytes("1 GiB")) == (0, 1536, 2**30)
    assert size_bytes_per_s("10 KiB/s") == 10240
    for text in ("1", "0.5 B", "-1 B"):
        with pytest.raises(QuantityError, match="must be"):
            size_bytes(text)
    for text in ("10 KiB", "10 KiB/min", "10/s"):
        with pytest.raises(QuantityError, match="must be"):
            size_bytes_per_s(text)
