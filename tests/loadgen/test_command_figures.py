"""Figures, comparisons and how they are shown: pure."""

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen import Closed, Load, Request, RunReport, Sample, Samples, StatusRule
from loadgen.command.comparison import Ratio, Round, is_a_first, ratios_of
from loadgen.command.documents import comparison_document, figures_document
from loadgen.command.figures import Figures, figures_of
from loadgen.command.live import RECENT, Progress, progress_line, progress_of
from loadgen.command.rows import RequestsFile
from loadgen.command.text import comparison_text, figures_text
from loadgen.samples import Unfinished

LOAD = Load(
    requests=(Request(url="http://127.0.0.1:1/"),),
    shape=Closed(requests=1, tasks=1),
    outcome=StatusRule(statuses={"2xx": "ok"}),
)
QUIET = RunReport(
    began_s=0,
    duration_s=10,
    cpu_share=0.25,
    loop_lag_p99_ms=0.4,
    loop_lag_max_ms=3,
    asked_per_s=None,
    taken_per_s=None,
    connections=4,
)
BUSY = RunReport(**(QUIET.to_document() | {"cpu_share": 0.97}))


def sample(latency_ms: float, outcome: str = "ok", error: str = "", *, at_s: float = 0) -> Sample:
    status = None if error else 200
    return Sample(at_s, at_s, at_s + latency_ms / 1000, outcome, status, error)


def samples_of(rows: Sequence[Sample], report: RunReport | None = QUIET) -> Samples:
    samples = Samples()
    for row in rows:
        samples.add(row)
    samples.report = report
    return samples


def figures(*latencies_ms: float, failed: int = 0, report: RunReport | None = QUIET) -> Figures:
    rows = [sample(latency) for latency in latencies_ms]
    rows += [sample(5, "error", "reply cut short")] * failed
    return figures_of(samples_of(rows, report), ["ok"])


@pytest.mark.parametrize(
    ("count", "there"),
    [
        (0, []),
        (1, ["p50"]),
        (9, ["p50"]),
        (10, ["p50", "p90"]),
        (20, ["p50", "p90", "p95"]),
        (99, ["p50", "p90", "p95"]),
        (100, ["p50", "p90", "p95", "p99"]),
        (999, ["p50", "p90", "p95", "p99"]),
        (1000, ["p50", "p90", "p95", "p99", "p99.9"]),
    ],
)
def test_a_percentile_is_there_only_where_the_sample_carries_it(
    count: int, there: list[str]
) -> None:
    percentiles = figures(*range(1, count + 1), failed=1).success.percentiles_ms

    assert list(percentiles) == ["p50", "p90", "p95", "p99", "p99.9"]
    assert [name for name, value in percentiles.items() if value is not None] == there


def test_percentiles_are_nearest_rank() -> None:
    percentiles = figures(*range(1, 1001)).success.percentiles_ms

    assert list(percentiles.values()) == pytest.approx([500, 900, 950, 990, 999])


def test_successes_and_failures_have_latencies_of_their_own() -> None:
    rows = [sample(10, "fresh"), sample(20, "stale"), sample(3000, "error", "reply cut short")]
    found = figures_of(samples_of(rows), ["fresh", "stale"])

    assert found.success.mean_ms == pytest.approx(15)
    assert found.failure.mean_ms == pytest.approx(3000)
    assert [(name, c.count) for name, c in found.by_class.items()] == [
        ("fresh", 1),
        ("stale", 1),
        ("error", 1),
        ("generator_error", 0),
    ]


@given(st.lists(st.sampled_from(["fresh", "stale", "a", "b"])))
def test_counts_of_classes_and_of_kinds_of_error_add_up(drawn: list[str]) -> None:
    rows = [sample(1, d) if d in {"fresh", "stale"} else sample(1, "error", d) for d in drawn]
    found = figures_of(samples_of(rows), ["fresh", "stale"])

    assert sum(c.count for c in found.by_class.values()) == found.requests == len(drawn)
    assert sum(kind.count for kind in found.errors) == found.failure.count


def test_the_table_says_what_is_not_available_and_each_kind_of_error() -> None:
    rows = [sample(float(ms), at_s=ms / 10) for ms in range(1, 13)]
    rows += [sample(1500, "error", "no first byte in 1.5 s")] * 3
    text = figures_text(figures_of(samples_of(rows), ["ok"]))

    assert text == (
        "15 requests in 1.50 s: 10.0 requests/s, 4 connections\n"
        "\n"
        "latency in ms  count  share  mean   p50   p90  p95  p99  p99.9   max\n"
        "ok                12   80 %  6.50  6.00  11.0  n/a  n/a    n/a  12.0\n"
        "error              3   20 %  1500  1500   n/a  n/a  n/a    n/a  1500\n"
        "\n"
        "error: 3 x no first byte in 1.5 s\n"
        "\n"
        "the generator used 25 % of a core; its event loop was 0.40 ms late (p99)"
    )


def test_one_error_in_50_000_is_neither_none_nor_all_of_the_rest() -> None:
    rows = [sample(1)] * 49_999 + [sample(1, "error", "reply cut short")]
    found = figures_of(samples_of(rows), ["ok"])
    shown = [line.split()[1:4] for line in figures_text(found).splitlines()[3:5]]

    assert shown == [["49999", ">99.99", "%"], ["1", "<0.01", "%"]]
    assert figures_document(LOAD, found, is_interrupted=False)["classes"]["error"]["count"] == 1


def test_what_is_small_is_not_nothing() -> None:
    calm = RunReport(**(QUIET.to_document() | {"cpu_share": 0.004, "loop_lag_p99_ms": 0.02}))
    text = figures_text(figures(0.0004, report=calm))

    assert "used <1 % of a core; its event loop was 0.020 ms late" in text
    assert text.splitlines()[3].split()[4] == "0.000400"
    assert progress_line(5, "", Progress(2, 0.00002), 0.4) == (
        "5 s: 2 requests, 0.40/s, errors <0.01 % of late"
    )


def test_several_classes_of_success_have_a_row_in_common() -> None:
    rows = [sample(1, "fresh"), sample(3, "stale"), sample(9, "error", "x")]
    lines = figures_text(figures_of(samples_of(rows), ["fresh", "stale"])).splitlines()

    assert [line.split("  ")[0] for line in lines[3:7]] == [
        "fresh",
        "stale",
        "all but error",
        "error",
    ]


def test_figures_that_are_the_generators_are_said_to_be() -> None:
    text = figures_text(figures(1, report=BUSY))

    assert (
        "these are figures of the generator and not of the target: the generator used 97% of a core"
        in text
    )
    assert "figures of the generator" not in figures_text(figures(1, report=None))


def test_a_stall_that_leaves_p99_alone_is_told_of_beside_the_maximum() -> None:
    still = replace(QUIET, requests=10_000, stalls=1, stalled_s=0.07, stalled_share=0.007)
    text = figures_text(figures(1, report=still))

    assert text.endswith(
        "late (p99); it stood still once, for 0.07 s, which may be the maximum above"
    )


def test_what_the_generator_could_not_send_has_a_row_without_latencies() -> None:
    want = "too many open files (limit 64)"
    rows = [sample(1), Sample(0, None, 9, "generator_error", None, want)]
    found = figures_of(samples_of(rows), ["ok"])
    [row] = [line for line in figures_text(found).splitlines() if "generator_error" in line]

    assert row.split() == ["generator_error", "1", "50", "%", *["n/a"] * 7]
    assert found.failure.count == 0
    assert found.success.max_ms == pytest.approx(1)


def test_a_generator_that_opened_no_connection_does_not_ask_whether_the_target_is_up() -> None:
    unsent = Sample(0, None, 9, "generator_error", None, "no free local port")
    refused = Sample(0, None, 9, "error", None, "cannot connect: Connection refused")
    report = replace(QUIET, connections=0)

    assert figures_of(samples_of([refused], report), ["ok"]).has_no_connection
    assert not figures_of(samples_of([unsent], report), ["ok"]).has_no_connection


def test_the_rate_of_an_open_load_is_over_its_scheduled_time() -> None:
    rows = [sample(1), sample(1, at_s=1)]
    found = figures_of(samples_of(rows, replace(QUIET, scheduled_s=2)), ["ok"])

    assert found.requests_per_s == 1
    assert figures_text(found).startswith(
        "2 requests due in 2.00 s, ended in 1.00 s: 1.00 requests/s, 4 connections\n"
    )
    assert figures_document(LOAD, found, is_interrupted=False)["scheduled_s"] == 2


def test_requests_that_were_stopped_are_shown_apart(tmp_path: Path) -> None:
    samples = samples_of([sample(1)])
    samples.leave([Unfinished(1, 1.5, 0), Unfinished(2, 2.5, 0), Unfinished(3, None, 0)])
    found = figures_of(samples, ["ok"])
    document = figures_document(LOAD, found, is_interrupted=True)
    with RequestsFile(tmp_path / "requests.csv") as file:
        file.add(samples)

    assert (
        "\n\nwhen the load was stopped: 2 sent and not answered, 1 due and not sent; "
        "in no figure above\n\n" in figures_text(found)
    )
    assert (document["requests"], document["unanswered"], document["waiting"]) == (1, 2, 1)
    with (tmp_path / "requests.csv").open(encoding="utf-8", newline="") as text:
        read = [(row["outcome"], row["sent_s"], row["finished_s"]) for row in csv.DictReader(text)]
    assert read == [
        ("ok", "0.0", "0.001"),
        ("unanswered", "1.5", ""),
        ("unanswered", "2.5", ""),
        ("waiting", "", ""),
    ]


def test_requests_that_waited_for_one_of_too_few_connections_are_told_of() -> None:
    text = figures_text(figures(1, report=replace(QUIET, queued=7)))

    assert "7 requests found all connections busy and waited for one" in text


def test_many_kinds_of_error_are_cut_short() -> None:
    rows = [sample(1, "error", f"kind {kind}") for kind in range(12)]
    text = figures_text(figures_of(samples_of(rows), ["ok"]))

    assert "and 2 more kinds; --json has them all" in text
    assert text.count("error: 1 x") == 10


def test_each_target_goes_first_in_every_other_round() -> None:
    assert [is_a_first(number) for number in range(4)] == [True, False, True, False]


def test_a_comparison_is_the_median_of_the_rounds_ratios_and_their_spread() -> None:
    rounds = [
        Round(a=figures(10), b=figures(11)),
        Round(a=figures(20), b=figures(30)),  # the machine was slow, for both
        Round(a=figures(10), b=figures(9)),
    ]
    median = next(ratio for ratio in ratios_of(rounds) if ratio.name == "p50 ms")

    assert (median.a, median.b) == pytest.approx((10, 11))
    assert median.median == pytest.approx(1.1)
    assert (median.least, median.most) == pytest.approx((0.9, 1.5))
    assert median.agreeing == 2


def test_one_round_has_no_spread_and_a_figure_missing_on_one_side_no_ratio() -> None:
    ratios = {r.name: r for r in ratios_of([Round(a=figures(10, failed=1), b=figures(failed=1))])}

    assert ratios["requests/s"].median is not None
    assert (ratios["requests/s"].least, ratios["requests/s"].most) == (None, None)
    assert ratios["p50 ms"] == Ratio(name="p50 ms", a=None, b=None, ratios=[])


def test_the_comparison_is_shown_with_failures_of_both() -> None:
    rounds = [Round(a=figures(10), b=figures(20, failed=1))] * 2
    lines = comparison_text(rounds, ratios_of(rounds)).splitlines()

    assert lines[0].split() == ["A", "B", "B", "/", "A", "spread", "rounds", "that", "agree"]
    assert lines[3].endswith("10.0  20.0  2.000  2.000 to 2.000             2 of 2")
    assert lines[4].split() == ["p90", "ms", *["n/a"] * 5]
    assert lines[-2:] == ["A: 0 of 2 requests failed", "B: 2 of 4 requests failed"]


def test_documents_are_json_and_name_their_format_and_load() -> None:
    found = figures(10, 20, failed=1, report=BUSY)
    rounds = [Round(a=found, b=found)]
    one = json.loads(json.dumps(figures_document(LOAD, found, is_interrupted=True)))
    two = json.loads(
        json.dumps(
            comparison_document((LOAD, LOAD), rounds, ratios_of(rounds), is_interrupted=False)
        )
    )

    assert (one["format"], one["interrupted"], one["requests"]) == (1, True, 3)
    assert Load.from_document(one["load"]) == LOAD
    assert one["classes"]["ok"] | {"mean_ms": 15, "max_ms": 20} == {
        "count": 2,
        "mean_ms": 15,
        "p50_ms": pytest.approx(10),
        **dict.fromkeys(["p90_ms", "p95_ms", "p99_ms", "p99.9_ms"]),
        "max_ms": 20,
    }
    assert one["errors"] == [{"error": "reply cut short", "status": None, "count": 1}]
    assert one["limits"] == ["the generator used 97% of a core"]
    assert two["rounds"][0]["a"]["classes"] == one["classes"]
    assert two["ratios"]["p50 ms"]["median"] == 1


def test_a_document_withholds_headers_that_let_one_in() -> None:
    headers = {"AUTHORIZATION": "Bearer 123", "Accept": "text/html"}
    load = replace(LOAD, requests=(replace(LOAD.requests[0], headers=headers),))
    document = figures_document(load, figures(1), is_interrupted=False)

    assert document["load"]["requests"][0]["headers"] == {
        "AUTHORIZATION": "(withheld)",
        "Accept": "text/html",
    }
    assert load.requests[0].headers == headers


def test_a_row_a_request_is_written_with_its_target_and_round(tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    rows = [sample(1.5, at_s=2), Sample(0, None, 1, "error", None, "no connection in 1 s")]
    with RequestsFile(path) as file:
        file.add(samples_of(rows[:1]))
        file.add(samples_of(rows[1:]), target="B", number=2)

    with path.open(encoding="utf-8", newline="") as text:
        read = list(csv.DictReader(text))
    assert [list(row.values()) for row in read] == [
        ["A", "1", "2.0", "2.0", "2.0015", "ok", "200", "", "0", "", ""],
        ["B", "2", "0.0", "", "1.0", "error", "", "no connection in 1 s", "0", "", ""],
    ]
    assert b"\r" not in path.read_bytes()


def test_progress_is_of_all_requests_and_of_the_failures_among_the_last() -> None:
    fine, failed = [sample(1)] * RECENT, [sample(1, "error", "x")] * (RECENT // 4)

    assert progress_of(samples_of([])) == Progress(0, None)
    assert progress_of(samples_of([sample(1)])) == Progress(1, 0)
    assert progress_of(samples_of(fine + failed)) == Progress(1250, 0.25)
    assert progress_of(samples_of(failed + fine)) == Progress(1250, 0)


def test_the_live_line_says_how_far_the_load_is() -> None:
    assert progress_line(12.3, " of 30 s", Progress(4800, 0.003), 400.6) == (
        "12 s of 30 s: 4800 requests, 401/s, errors 0.3 % of late"
    )
