"""Samples and reports: what is put in comes out."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen import Sample, Samples
from loadgen.endings import Ending
from loadgen.report import RunReport, merge_reports
from loadgen.samples import Unfinished

offsets = st.floats(0, 1000)
samples_of = st.builds(
    lambda due, sent, took, ending, number: Sample(
        scheduled_s=due,
        sent_s=None if sent is None else due + sent,
        finished_s=due + took,
        outcome=ending.outcome,
        status=ending.status,
        error=ending.error,
        request=number,
    ),
    st.floats(0, 1e5),
    st.none() | offsets,
    offsets,
    st.sampled_from(
        [Ending("fresh", 200), Ending("error", None, "x"), Ending("error", 503, "status 503")]
    ),
    st.integers(0, 9),
)


def filled(samples: list[Sample]) -> Samples:
    filled = Samples()
    for sample in samples:
        filled.add(sample)
    return filled


@given(st.lists(samples_of), st.integers(1, 5))
def test_samples_survive_chunks_documents_and_joining(samples: list[Sample], size: int) -> None:
    joined = Samples()
    joined.endings.code(Ending("other"))  # codes differ from the others'
    for chunk in filled(samples).chunks(size):
        joined.extend(Samples.from_document(chunk.to_document()))

    assert len(joined) == len(samples)
    for found, given_ in zip(joined, samples, strict=True):
        assert found[3:] == given_[3:]
        assert (found.sent_s is None) == (given_.sent_s is None)
        assert found.finished_s == pytest.approx(given_.finished_s, rel=1e-7, abs=1e-4)


def test_columns_and_rows_say_the_same() -> None:
    samples = filled([Sample(1, None, 1.5, "error", None, "x"), Sample(2, 2, 3, "fresh", 200, "")])

    for name in Sample._fields:
        assert getattr(samples, name) == [getattr(sample, name) for sample in samples]
    assert list(samples.latencies_s(outcome="fresh")) == [1]
    assert samples.span_s() == 2
    assert Samples().span_s() == 0


def test_later_samples_are_moved_by_their_delay() -> None:
    samples = filled([Sample(1, 1, 1.5, "fresh", 200, "")])
    samples.extend(filled([Sample(1, 1, 1.5, "fresh", 200, "")]), later_s=0.5)

    assert samples.scheduled_s == [1, 1.5]
    assert samples.finished_s == [1.5, 2]


def test_a_sample_takes_24_bytes() -> None:
    samples = Samples()
    for number in range(50_000):
        samples.record([(float(number), 0.0, 0.0, 0.0, 0, 0)])
    size = sys.getsizeof(samples._rows)

    assert 24 <= size / 50_000 < 28  # a bytearray keeps room to grow


STOOD_STILL = "its event loop stood still"
TOO_MANY_FILES = "too many open files (limit 64); raise ulimit -n or use fewer connections"


def report(**values: object) -> RunReport:
    settings = {
        "began_s": 1.0,
        "duration_s": 2.0,
        "cpu_share": 0.2,
        "loop_lag_p99_ms": 1.0,
        "loop_lag_max_ms": 2.0,
        "asked_per_s": None,
        "taken_per_s": None,
        "connections": 1,
        "requests": 1000,
    }
    return RunReport(**(settings | values))  # type: ignore[arg-type] # fields of the report


@pytest.mark.parametrize(
    ("seen", "limits"),
    [
        (report(), ()),
        (report(cpu_share=0.97), ("the generator used 97% of a core",)),
        (
            report(stalls=1, stalled_s=0.2, stalled_share=0.1, held_up=4),
            (f"{STOOD_STILL} once, for 0.20 s: 10.0 % of the time and 4 of 1000 requests",),
        ),
        (
            report(stalls=2, stalled_s=0.12, stalled_share=0.001, held_up=10, duration_s=0.1),
            (f"{STOOD_STILL} 2 times, 0.12 s in all: 0.1 % of the time and 10 of 1000 requests",),
        ),
        (report(stalls=9, stalled_s=0.9, stalled_share=0.009, held_up=9), ()),
        (report(held_up=10), ("it took up 10 of 1000 requests 50 ms late or later",)),
        (
            report(unsent={"too many open files (limit 64)": 2}, duration_s=0.1),
            (f"it could not send 2 of 1000 requests: {TOO_MANY_FILES}",),
        ),
        (report(asked_per_s=1000, taken_per_s=900), ("it took up 900 of 1000 requests/s",)),
        (report(asked_per_s=1000, taken_per_s=999), ()),
        (report(cpu_share=0.97, duration_s=0.1), ()),
    ],
)
def test_a_report_says_when_the_generator_was_the_limit(
    seen: RunReport, limits: tuple[str, ...]
) -> None:
    assert seen.limits == limits


def test_the_report_of_several_generators_is_that_of_the_worst() -> None:
    merged = merge_reports([report(cpu_share=0.5, asked_per_s=10), report(began_s=0.5)])

    assert merged == report(
        cpu_share=0.5, asked_per_s=10, began_s=0.5, connections=2, requests=2000
    )


def test_one_generator_of_several_that_stood_still_spoils_the_load_of_all() -> None:
    still = report(stalls=1, stalled_s=1.0, stalled_share=0.02, held_up=20)
    merged = merge_reports([report(), report(), still, report()])

    assert merged.limits == (
        "its event loop stood still once, for 1.00 s: 2.0 % of the time and 20 of 4000 requests",
    )


def test_what_several_generators_could_not_send_adds_up() -> None:
    merged = merge_reports([report(unsent={"a": 1}), report(unsent={"a": 2, "b": 1})])

    assert merged.unsent == {"a": 3, "b": 1}
    assert RunReport(**merged.to_document()) == merged


def test_what_was_under_way_survives_chunks_documents_and_joining() -> None:
    samples = filled([Sample(1, 1, 1.5, "fresh", 200, "")])
    samples.leave([Unfinished(2.0, 2.5, 0), Unfinished(3.0, None, 1)])
    joined = Samples()
    for chunk in samples.chunks(1):
        joined.extend(Samples.from_document(chunk.to_document()), later_s=1.0)

    assert joined.unfinished == [Unfinished(3.0, 3.5, 0), Unfinished(4.0, None, 1)]
    assert len(joined) == 1
