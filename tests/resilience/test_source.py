import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from resilience import Policies, RetrySettings, Source
from resilience.source import overridden


def source(**changes: Any) -> Source:  # noqa: ANN401
    given = {"name": "rates", "base_url": "http://rates.test", "headers": {"x-key": "secret"}}
    return Source(**{**given, **changes})


def test_a_source_can_be_a_key() -> None:
    assert len({source(), source(), source(headers={"x-key": "other"})}) == 2
    assert hash(source(headers={"a": "1", "b": "2"})) == hash(source(headers={"b": "2", "a": "1"}))


def test_nobody_changes_the_headers_of_a_source() -> None:
    given = {"x-key": "secret"}
    made = source(headers=given)
    given["x-key"] = "changed"
    with pytest.raises(TypeError, match="does not support item assignment"):
        made.headers["x-key"] = "changed"  # type: ignore[index]
    assert dict(made.headers) == {"x-key": "secret"}


@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        replace,
        lambda made: pickle.loads(pickle.dumps(made)),  # noqa: S301 - a pickle of our own
    ],
)
def test_a_copy_of_a_source_is_equal_to_it(copied: Callable[[Source], Source]) -> None:
    assert copied(source()) == source()
    assert copied(source()).headers == {"x-key": "secret"}


def test_a_source_does_not_tell_its_headers_when_it_is_printed() -> None:
    assert "secret" not in repr(source())


@pytest.mark.parametrize(
    "base_url",
    [
        "http://127.0.0.1:99999",
        "http://127.0.0.1:0",
        "http://127.0.0.1:-1",
        "http://a..b",
        "http://.a",
        "http://" + "a" * 64,
        "http://a b",
        "http://a*b",
        "http://%61",
        "http://[::1",
        "http://999.0.0.1",
        "http://x?",
        "http://x#",
        "http://x\n",
        "//x",
        "",
    ],
)
def test_a_base_url_that_nothing_can_be_sent_to_is_refused(base_url: str) -> None:
    with pytest.raises(ValueError, match=r"^base_url must .*write it like http"):
        source(base_url=base_url)


@pytest.mark.parametrize(
    "base_url",
    [
        "https://api.example.test:65535/v1/",
        "http://rates_api:1",
        "http://LOCALHOST.",
        "http://[::1]:80",
        "http://київ.test",
        "http://me:secret@x",
    ],
)
def test_a_base_url_may_have_any_host_that_can_be_named(base_url: str) -> None:
    assert source(base_url=base_url).base_url == base_url


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"name": 5}, TypeError, r"name has the wrong type: got 5 \(int\)"),
        ({"base_url": None}, TypeError, "base_url has the wrong type"),
        ({"policies": "none"}, TypeError, r"policies .* make it Policies\("),
        ({"headers": None}, TypeError, "headers has the wrong type"),
        ({"headers": {"x": 1}}, TypeError, "'x' has the wrong type"),
        ({"headers": {"x": "a\r\nb: c"}}, ValueError, "'x' holds a line break"),
        ({"headers": {"content-length": "0"}}, ValueError, "leave it out"),
    ],
)
def test_a_source_of_wrong_parts_is_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        source(**changes)


WRONG_KINDS = [
    ({"total_timeout_s": "5"}, r"total_timeout_s has the wrong type: got '5' \(str\); .* seconds"),
    ({"total_timeout_s": True}, "total_timeout_s has the wrong type"),
    ({"attempt_timeout_s": Decimal(1)}, "attempt_timeout_s has the wrong type"),
    ({"retry": 3}, r"retry has the wrong type: got 3 \(int\); make it a RetrySettings"),
    ({"retry": RetrySettings}, "retry has the wrong type"),
]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        *WRONG_KINDS,
        ({"breaker": RetrySettings()}, "make it a BreakerSettings"),
        ({"fallback": {}}, "make it a Fallback"),
    ],
)
def test_a_policy_of_the_wrong_kind_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Policies(**wrong)


@pytest.mark.parametrize(("wrong", "message"), WRONG_KINDS)
def test_an_override_of_the_wrong_kind_is_refused(wrong: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(TypeError, match=message):
        overridden(Policies(total_timeout_s=2, attempt_timeout_s=1), wrong)
