"""Which loads Locust can send, decided without a process."""

from dataclasses import replace

import pytest

from loadgen import Closed, JsonFieldRule, Load, Open, Request, Stage, TimeOuts
from loadgen.locust_run import start_locust, why_unfit

LOAD = Load(
    requests=(Request(url="http://127.0.0.1:1/convert?from=USD"),),
    shape=Closed(requests=3, tasks=2),
    outcome=JsonFieldRule(json_field="source", classes=("fresh", "stale")),
)
OPEN = Open(stages=(Stage(duration_s=1, rate_per_s=9),))


def test_a_closed_load_of_a_number_of_requests_fits() -> None:
    assert why_unfit(LOAD, workers=2) is None
    assert why_unfit(replace(LOAD, keep_alive=False), workers=2) is None


@pytest.mark.parametrize(
    ("load", "workers", "complaint"),
    [
        (replace(LOAD, shape=OPEN), 1, "give tasks in place of a rate"),
        (replace(LOAD, shape=Closed(tasks=2, duration_s=1)), 1, "in place of a duration"),
        (LOAD, 3, "3 workers need at least 3 tasks, got 2"),
        (replace(LOAD, warmup_requests=1), 1, "no warm-up"),
        (replace(LOAD, warmup_s=1), 1, "no warm-up"),
        (replace(LOAD, time_outs=TimeOuts(first_byte_s=1)), 1, "no time-out for the first byte"),
        (replace(LOAD, requests=(Request(url="http+unix://%2Fx.sock/"),)), 1, "unix socket"),
    ],
)
def test_what_locust_cannot_send_exactly_is_refused(
    load: Load, workers: int, complaint: str
) -> None:
    assert complaint in str(why_unfit(load, workers=workers))


async def test_a_session_needs_a_worker() -> None:
    with pytest.raises(ValueError, match="at least 1 worker, got 0"):
        async with start_locust(workers=0):
            pass
