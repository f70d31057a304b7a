import httpx
import pytest

from resilience import Policies
from resilience.telemetry._http import Conventions
from tests.resilience.recorded import attributes, recorded

pytestmark = pytest.mark.virtual_clock


def full_url(url: str, *secret_parameters: str) -> object:
    conventions = Conventions(secret_parameters=secret_parameters)
    return conventions.of_span("GET", httpx.Request("GET", url))["url.full"]


def test_a_user_and_a_password_are_never_told() -> None:
    assert full_url("http://olena:pa%40ss@rates/usd") == "http://REDACTED:REDACTED@rates/usd"


@pytest.mark.parametrize(
    "name",
    [
        *("AWSAccessKeyId", "Signature", "sig", "X-Goog-Signature", "X-Amz-Security-Token"),
        *("access_token", "API-KEY", "apiKey", "key", "client_secret", "api%5Fkey"),
    ],
)
def test_a_query_is_told_without_its_credentials(name: str) -> None:
    told = full_url(f"http://rates/?day=1%2C2&{name}=s%26cret&{name}=again&sort=key&token")
    assert told == f"http://rates/?day=1%2C2&{name}=REDACTED&{name}=REDACTED&sort=key&token"


def test_an_ordinary_query_is_told_as_it_was_sent() -> None:
    url = "http://rates/?q=a+b%20c&empty=&&keyboard=1"
    assert full_url(url) == url


async def test_the_caller_may_name_more_parameters_that_are_secret() -> None:
    async with recorded(Policies(), lambda _n: 200, secret_parameters=("appid",)) as record:
        await record.client.get("rates", "/", params={"appid": "s3cret", "q": "kyiv"})
    (attempt,) = record.attempts()
    assert attributes(attempt)["url.full"] == "http://rates/?appid=REDACTED&q=kyiv"
    assert record.sent[0].url.params["appid"] == "s3cret"


async def test_credentials_of_the_base_url_are_in_no_span() -> None:
    async with recorded(Policies(), lambda _n: 200, base_url="http://olena:s3cret@rates") as record:
        await record.client.get("rates", "/")
    assert "s3cret" not in "".join(map(str, record.spans.get_finished_spans()))


@pytest.mark.parametrize(
    ("url", "address", "port"),
    [
        ("http://rates/", "rates", 80),
        ("https://rates/", "rates", 443),
        ("https://rates:8443/", "rates", 8443),
        ("http://[::1]:5401/", "::1", 5401),
    ],
)
def test_the_server_is_told_with_its_port(url: str, address: str, port: int) -> None:
    told = Conventions().of_request("GET", httpx.Request("GET", url))
    assert (told["server.address"], told["server.port"]) == (address, port)


async def test_a_method_that_is_not_known_is_told_as_other_so_that_metrics_stay_few() -> None:
    async with recorded(Policies(), lambda _n: 200) as record:
        await record.client.request("PURGE", "rates", "/")
        (point,) = record.metric("http.client.request.duration").data.data_points
    (attempt,) = record.attempts()
    assert attempt.name == "HTTP"
    assert attributes(attempt)["http.request.method"] == "_OTHER"
    assert attributes(attempt)["http.request.method_original"] == "PURGE"
    assert (point.attributes or {})["http.request.method"] == "_OTHER"


async def test_the_environment_may_name_the_known_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", "GET, PURGE")
    async with recorded(Policies(), lambda _n: 200) as record:
        await record.client.request("PURGE", "rates", "/")
        await record.client.post("rates", "/")
    assert [span.name for span in record.attempts()] == ["PURGE", "HTTP"]
