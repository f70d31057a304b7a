"""What Locust's users call a reply."""

from types import SimpleNamespace

import pytest

from loadgen.locust_replies import Judge, is_whole, label_of
from loadgen.outcomes import HeaderRule, JsonFieldRule, OutcomeRule, StatusRule

JSON = JsonFieldRule(json_field="source", classes=("fresh", "stale"))
BY_STATUS = StatusRule(statuses={"2xx": "ok", "429": "limited"})
BY_HEADER = HeaderRule(header="X-Source", classes=("fresh",))
UNKNOWN = "not a known class"


@pytest.mark.parametrize(
    ("rule", "status", "body", "failure", "ending"),
    [
        (JSON, 200, b'{"source": "fresh"}', "", ("fresh", "")),
        (JSON, 206, b'{"source": "stale"}', "", ("stale", "")),
        (JSON, 200, b'{"source": "old"}', "", ("error body", f"source is 'old', {UNKNOWN}")),
        (JSON, 200, b"[" * 100_000, "", ("error body", "body is not JSON")),
        (JSON, 200, b"", "cut short", ("error body", "cut short")),
        (JSON, 503, b'{"source": "fresh"}', "", ("error 503", "status 503")),
        (JSON, 302, b"", "", ("error 302", "status 302")),
        (JSON, 0, b"", "refused", ("error no reply", "refused")),
        (JSON, None, None, "", ("error no reply", "closed without a reply")),
        (BY_STATUS, 429, b"slow down", "", ("limited", "")),
        (BY_STATUS, 429, b"slow", "cut short", ("error 429", "cut short")),
        (BY_HEADER, 200, b"", "", ("fresh", "")),
    ],
)  # fmt: skip
def test_a_reply_is_judged_by_the_rule_if_it_is_whole_and_is_an_error_otherwise(
    rule: OutcomeRule, status: int | None, body: bytes | None, failure: str, ending: tuple[str, str]
) -> None:
    headers = {"x-source": "fresh", "content-encoding": "gzip", "X-Chaos": "delay"}
    reply = SimpleNamespace(status_code=status, headers=headers, content=body)

    found = Judge(rule).ending_of(reply, failure)

    assert (label_of(found), found.error) == ending
    assert found.status == (status or None)
    assert found.fault == "delay"


def test_an_exception_that_carries_the_reply_is_no_failure_to_reply() -> None:
    bad_status = ConnectionError()
    bad_status.response = "503"  # type: ignore[attr-defined]

    assert is_whole(None)
    assert is_whole(bad_status)
    assert not is_whole(ConnectionError())
