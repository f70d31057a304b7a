"""What a load through Locust is, and what becomes of its samples, decided without a process."""

import pytest

from loadgen.locust_run import Columns, LocustLoad, run_locust_load
from loadgen.locust_run.load import share

LOAD = LocustLoad(
    url="http://127.0.0.1:1/convert?from=USD",
    requests=3,
    tasks=2,
    json_field="source",
    classes=("fresh", "stale"),
    headers={"accept": "application/json"},
)


@pytest.mark.parametrize(("total", "parts"), [(203, 2), (7, 3), (2, 4), (1, 1), (10**7, 7)])
def test_shares_add_up_and_differ_by_one_at_most(total: int, parts: int) -> None:
    shares = [share(total, parts=parts, index=index) for index in range(parts)]

    assert sum(shares) == total
    assert max(shares) - min(shares) <= 1
    with pytest.raises(ValueError, match="index must be in"):
        share(total, parts=parts, index=parts)


def test_a_load_comes_back_from_its_document() -> None:
    assert LocustLoad.from_document(LOAD.to_document()) == LOAD


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"url": "/convert"}, "url must be like"),
        ({"requests": 0}, "requests must be at least 1, got 0"),
        ({"tasks": 0}, "tasks must be at least 1, got 0"),
        ({"classes": []}, "classes must name at least one value"),
        ({"timeout_s": float("inf")}, "timeout_s must be a number above 0, got inf"),
    ],
)
def test_a_load_that_cannot_be_sent_is_refused(change: dict[str, object], complaint: str) -> None:
    document = LOAD.to_document() | change

    with pytest.raises(ValueError, match=complaint):
        LocustLoad.from_document(document)


def test_the_parts_of_a_run_are_put_in_order_on_one_clock() -> None:
    first, second, joined = Columns(), Columns(), Columns()
    first.add(sent_s=0.0, finished_s=3.0, outcome="fresh", status=200, error="")
    second.add(sent_s=0.5, finished_s=1.0, outcome="error", status=None, error="refused")
    joined.extend(first)
    joined.extend(second, later_by_s=1.0)
    ordered = joined.in_order()

    assert (ordered.sent_s, ordered.finished_s) == ([1.5, 0.0], [2.0, 3.0])
    assert (ordered.outcome, ordered.status) == (["error", "fresh"], [None, 200])
    assert [len(chunk) for chunk in ordered.chunks(1)] == [1, 1]


async def test_each_worker_needs_a_task() -> None:
    with pytest.raises(ValueError, match=r"2 tasks need 1\.\.2 workers, got 3"):
        await run_locust_load(LOAD.to_document(), workers=2, remote_workers=1)
