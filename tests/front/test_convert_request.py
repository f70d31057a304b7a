from dataclasses import asdict
from decimal import Decimal
from typing import Annotated

import httpx
import orjson
import pytest
from fastapi import Depends, FastAPI
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from front import FrontSettings, create_app
from front.convert_request import Amount, Code, ConvertRequest, Raw, convert_request
from front.converter import Answer
from service_defaults.problems import install_problems

AN_ANSWER = Answer(result=Decimal("4120.31"), rate=Decimal("41.2031"), source="fresh", age_s=0)


async def reply(query: str) -> httpx.Response:
    """Return what a route that takes a `ConvertRequest` and echoes it answers."""
    app = FastAPI()
    install_problems(app)

    @app.get("/")
    async def echo(asked: Annotated[ConvertRequest, Depends(convert_request)]) -> dict[str, str]:
        return {name: str(value) for name, value in asdict(asked).items()}

    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://front") as client:
        return await client.get(f"/?{query}")


@pytest.mark.parametrize(
    ("query", "code", "amount", "raw"),
    [
        ("from=USD&amount=100", "USD", "100", False),
        ("from=eur&amount=0", "EUR", "0", False),
        ("from=Pln&amount=99.95&raw=true", "PLN", "99.95", True),
        ("from=USD&amount=1e3&raw=FALSE", "USD", "1000", False),
        ("from=USD&amount=1000000000000", "USD", "1000000000000", False),
        ("from=USD&amount=.5&raw=1&other=1", "USD", "0.5", True),
        ("from=USD&amount=1e-999", "USD", "1e-999", False),
    ],
)
async def test_a_good_request_is_understood(query: str, code: str, amount: str, raw: bool) -> None:
    understood = (await reply(query)).json()

    assert (understood["code"], understood["raw"]) == (code, str(raw))
    assert Decimal(understood["amount"]) == Decimal(amount)


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
                "9" * 60_000,
            )
        ),
        ("from=USD&amount=1&raw=", ["raw"]),
        ("from=USD&amount=1&raw=yes", ["raw"]),
        ("from=USD&from=EUR&amount=1", ["from"]),
        ("from=USD&amount=1&amount=1&raw=1&raw=0", ["amount", "raw"]),
        ("from=x&amount=y&raw=z", ["from", "amount", "raw"]),
    ],
)
async def test_a_bad_request_names_every_wrong_field(query: str, fields: list[str]) -> None:
    response = await reply(query)
    problem = response.json()

    assert response.status_code == problem["status"] == 422
    assert [each["field"] for each in problem["errors"]] == fields
    assert all(len(each["message"]) < 200 for each in problem["errors"])
    assert all(each["message"][0].islower() for each in problem["errors"])


FIELDS: list[TypeAdapter[object]] = [TypeAdapter(Code), TypeAdapter(Amount), TypeAdapter(Raw)]


@given(st.text(), st.sampled_from(FIELDS))
def test_reading_is_total(text: str, field: TypeAdapter[object]) -> None:
    try:
        value = field.validate_python(text)
    except ValidationError as error:
        assert error.error_count() == 1  # noqa: PT017 - either way is right
    else:
        assert len(str(value)) <= 60


def test_the_documentation_names_the_fields_of_a_request_and_of_its_reply() -> None:
    document = create_app(FrontSettings()).openapi()
    route = document["paths"]["/convert"]["get"]
    reply = document["components"]["schemas"]["Conversion"]

    assert [each["name"] for each in route["parameters"]] == ["from", "amount", "raw"]
    assert set(reply["properties"]) == set(orjson.loads(AN_ANSWER.as_json()))
    assert set(route["responses"]) == {"200", "404", "422", "503"}
