from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from front.question import Question, read_question
from service_defaults import ProblemError


def read(query: str) -> Question:
    return read_question(QueryParams(query))


@pytest.mark.parametrize(
    ("query", "question"),
    [
        ("from=USD&amount=100", Question(code="USD", amount=Decimal(100))),
        ("from=eur&amount=0", Question(code="EUR", amount=Decimal(0))),
        ("from=Pln&amount=99.95&raw=true", Question(code="PLN", amount=Decimal("99.95"), raw=True)),
        ("from=USD&amount=1e3&raw=FALSE", Question(code="USD", amount=Decimal(1000))),
        ("from=USD&amount=1000000000000", Question(code="USD", amount=Decimal(10**12))),
        ("from=USD&amount=.5&raw=1&other=1", Question(code="USD", amount=Decimal("0.5"), raw=True)),
        ("from=USD&amount=1e-999", Question(code="USD", amount=Decimal("1e-999"))),
    ],
)
def test_a_good_question_is_understood(query: str, question: Question) -> None:
    assert read(query) == question


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("", ["from", "amount"]),
        ("from=USD", ["amount"]),
        ("amount=1", ["from"]),
        *(
            (f"from={code}&amount=1", ["from"])
            for code in ("", "US", "USDT", "U%20D", "U1D", "USD%0A", "%D0%A3%D0%A1%D0%94", "..%2F")
        ),
        *(
            (f"from=USD&amount={amount}", ["amount"])
            for amount in (
                "",
                "ten",
                "NaN",
                "sNaN",
                "inf",
                "-Infinity",
                "-0.01",
                "1000000000000.01",
                "1e13",
                "1e999",
                "1e9999",
                "0x10",
                "1_000",
                "1,5",
                "1%20",
                "%D9%A1",
                "1" * 41,
                "9" * 100_000,
            )
        ),
        ("from=USD&amount=1&raw=", ["raw"]),
        ("from=USD&amount=1&raw=yes", ["raw"]),
        ("from=USD&from=EUR&amount=1", ["from"]),
        ("from=USD&amount=1&amount=1&raw=1&raw=0", ["amount", "raw"]),
        ("from=x&amount=y&raw=z", ["from", "amount", "raw"]),
    ],
)
def test_a_bad_question_names_every_wrong_field(query: str, fields: list[str]) -> None:
    with pytest.raises(ProblemError) as raised:
        read(query)

    assert raised.value.status == 422
    assert list(raised.value.fields or {}) == fields
    assert all(len(complaint) < 200 for complaint in (raised.value.fields or {}).values())


@given(st.text(), st.text(), st.text())
def test_reading_is_total(code: str, amount: str, raw: str) -> None:
    try:
        question = read_question(QueryParams({"from": code, "amount": amount, "raw": raw}))
    except ProblemError as error:
        assert error.fields  # noqa: PT017 - either way is right
    else:
        assert 0 <= question.amount <= 10**12
