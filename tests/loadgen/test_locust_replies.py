"""What Locust's users call a reply."""

import pytest

from loadgen.locust_replies import outcome_of

UNKNOWN = "not a known class"


@pytest.mark.parametrize(
    ("status", "body", "failure", "outcome"),
    [
        (200, b'{"source": "fresh"}', "", ("fresh", "fresh", "")),
        (206, b'{"source": "stale"}', "", ("stale", "stale", "")),
        (200, b'{"source": "old"}', "", ("error", "error body", f"source is 'old', {UNKNOWN}")),
        (200, b'{"source": ["a"]}', "", ("error", "error body", f"source is \"['a']\", {UNKNOWN}")),
        (200, b'{"result": 1}', "", ("error", "error body", "no field 'source' in the body")),
        (200, b'["source"]', "", ("error", "error body", "no field 'source' in the body")),
        (200, b'{"source": ', "", ("error", "error body", "body is not JSON")),
        (200, b"[" * 100_000, "", ("error", "error body", "body is not JSON")),
        (200, b"", "cut short", ("error", "error body", "cut short")),
        (503, b'{"source": "fresh"}', "bad status", ("error", "error 503", "status 503")),
        (302, b"", "", ("error", "error 302", "status 302")),
        (0, b"", "refused", ("error", "error no reply", "refused")),
        (None, b"", "", ("error", "error no reply", "no reply")),
    ],
)  # fmt: skip
def test_a_reply_is_named_by_its_field_if_it_is_whole_and_good_and_an_error_otherwise(
    status: int | None, body: bytes, failure: str, outcome: tuple[str, str, str]
) -> None:
    found = outcome_of(
        status=status, body=body, failure=failure, field="source", classes=("fresh", "stale")
    )

    assert found == outcome
