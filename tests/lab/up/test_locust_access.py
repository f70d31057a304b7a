"""Who may use Locust's web UI, decided without a server."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from lab.up.locust_pages.access import Guard, complaint_about_door, refusal
from lab.up.locust_pages.injector import describe
from lab.up.locust_pages.settings import read_settings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse

OWN = "127.0.0.1:8089"


@pytest.mark.parametrize(
    ("method", "host", "headers", "allowed"),
    [
        ("GET", OWN, {}, True),
        ("GET", "localhost:8089", {}, True),
        ("GET", "[::1]:8089", {}, True),
        ("GET", "evil.example:8089", {}, False),
        ("GET", "127.0.0.1.evil.example", {}, False),
        ("GET", "[broken", {}, False),
        ("GET", "", {}, False),
        ("GET", OWN, {"HTTP_ORIGIN": "http://evil.example"}, True),
        ("POST", OWN, {}, True),  # not a browser: it has no person's session to abuse
        ("POST", OWN, {"HTTP_ORIGIN": f"http://{OWN}"}, True),
        ("POST", OWN, {"HTTP_ORIGIN": "http://evil.example"}, False),
        ("POST", OWN, {"HTTP_ORIGIN": "http://127.0.0.1:9999"}, False),
        ("POST", OWN, {"HTTP_ORIGIN": "null"}, False),
        ("POST", OWN, {"HTTP_SEC_FETCH_SITE": "same-origin"}, True),
        ("POST", OWN, {"HTTP_SEC_FETCH_SITE": "cross-site"}, False),
        ("DELETE", OWN, {"HTTP_SEC_FETCH_SITE": "same-site"}, False),
    ],
)
def test_only_the_ui_s_own_pages_change_anything_and_only_under_its_own_name(
    method: str, host: str, headers: dict[str, str], allowed: bool
) -> None:
    environ = {"REQUEST_METHOD": method, "HTTP_HOST": host, **headers}

    assert (refusal(environ, bound_to_loopback=True) is None) is allowed


def test_bound_elsewhere_it_answers_under_any_name_and_foreign_pages_still_change_nothing() -> None:
    own = {
        "REQUEST_METHOD": "POST",
        "HTTP_HOST": "lab.example",
        "HTTP_ORIGIN": "https://lab.example",
    }
    foreign = own | {"HTTP_ORIGIN": "https://evil.example"}

    assert refusal(own, bound_to_loopback=False) is None
    assert refusal(foreign, bound_to_loopback=False) is not None


def test_no_reply_invites_other_pages() -> None:
    sent: list[tuple[str, str]] = []

    def app(_: object, start: "StartResponse") -> list[bytes]:
        start("200 OK", [("Access-Control-Allow-Origin", "*"), ("X-Own", "1")])
        return [b"ok"]

    def start(
        _: str, headers: list[tuple[str, str]], __: object = None, /
    ) -> Callable[[bytes], object]:
        sent.extend(headers)
        return lambda _: None

    guard = Guard(app, bound_to_loopback=True)
    body = guard({"REQUEST_METHOD": "GET", "HTTP_HOST": OWN}, start)

    assert list(body) == [b"ok"]
    assert sent == [("X-Own", "1"), ("X-Frame-Options", "DENY")]


@pytest.mark.parametrize(
    ("host", "login", "password", "complaint"),
    [
        ("127.0.0.1", False, None, None),
        ("localhost", False, None, None),
        ("::1", False, None, None),
        ("0.0.0.0", True, "secret", None),  # noqa: S104 - with a login
        ("", False, None, "--web-host * shows the web UI to other machines"),
        ("192.168.1.4", False, "secret", "--web-host 192.168.1.4 shows the web UI"),
        ("127.0.0.1", True, None, "--web-login needs a password; set LOCUST_WEB_PASSWORD"),
        ("0.0.0.0", True, "", "--web-login needs a password"),  # noqa: S104 - it is refused
    ],
)
def test_the_ui_opens_on_loopback_or_behind_a_password(
    host: str, login: bool, password: str | None, complaint: str | None
) -> None:
    found = complaint_about_door(host=host, login=login, password=password)

    assert found is None if complaint is None else complaint in str(found)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("rates", "LAB_CHAOS_URLS is not JSON"),
        ('["http://127.0.0.1/chaos"]', "LAB_CHAOS_URLS must be an object"),
        ('{"rates": 7}', "rates must be an http(s) address, got 7"),
        ('{"rates": "127.0.0.1:5401/chaos"}', "rates must be an http(s) address"),
        ('{"rates": "http://[/chaos"}', "rates must be an http(s) address"),
    ],
)
def test_wrong_injector_addresses_are_named(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match="LAB_CHAOS_URLS") as found:
        read_settings({"LAB_CHAOS_URLS": text})

    assert complaint in str(found.value)


def test_an_empty_environment_names_nothing() -> None:
    settings = read_settings({"LAB_CHAOS_URLS": "", "LAB_CONTROL": ""})

    assert (dict(settings.chaos_urls), settings.control, settings.web_password) == ({}, None, None)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"failure": 0.3, "status": 500, "delayMs": 0}, "30 % replies 500"),
        ({"delayMs": 500.0, "jitterMs": 50, "status": 500}, "500 ms delay, ±50 ms jitter"),
        ({"failFirst": 4, "status": 503}, "first 4 replies 503"),
        (
            {"hang": True, "body": "drip", "active": True, "ttlS": 5},
            "hang True, body drip",
        ),
    ],
)
def test_a_fault_is_told_in_a_few_words(document: dict[str, object], words: str) -> None:
    assert describe(document) == words
