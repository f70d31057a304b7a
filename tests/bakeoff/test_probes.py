"""What the probes find in the pipeline is a promise; in the other libraries, a finding."""

import pytest

from benchmarks.bakeoff.breaker_probes import (
    cancellations_kept,
    cancelled_calls,
    cancelled_trial,
    half_open_crowd,
    late_failure,
    late_success,
    scattered_failures,
    split_trials,
)
from benchmarks.bakeoff.pool_probe import slots_left
from benchmarks.bakeoff.probes import (
    BREAKER_PROBES,
    NO_BREAKER,
    POOL_QUESTION,
    Probe,
    as_markdown,
    findings,
)
from benchmarks.bakeoff.stage import OK, SICK, staged
from benchmarks.bakeoff.variants import VARIANTS

PIPELINE = VARIANTS["pipeline"]


@pytest.mark.virtual_clock
@pytest.mark.parametrize(
    ("probe", "finding"),
    [
        (cancelled_calls, "not counted"),
        (cancellations_kept, "20 of 20"),
        (half_open_crowd, "1 of 50"),
        (cancelled_trial, "the next call is the trial"),
        (split_trials, "one trial at a time"),
        (scattered_failures, "opens after 10 calls"),
        (late_success, "not counted"),
        (late_failure, "not counted"),
    ],
)
async def test_the_pipeline_stands_every_probe_of_its_breaker(probe: Probe, finding: str) -> None:
    assert await probe(PIPELINE) == finding


async def test_the_pipeline_loses_no_connection_to_cancelled_calls() -> None:
    assert await slots_left(PIPELINE) == "6 of 6"


@pytest.mark.parametrize("name", VARIANTS)
async def test_every_connection_is_usable_while_nothing_is_cancelled(name: str) -> None:
    """A probe of lost connections is worth something only if it can find them all."""
    assert await slots_left(VARIANTS[name], cancelled=0) == "6 of 6"


async def test_every_probe_yields_a_finding_on_every_variant() -> None:
    found = await findings()

    assert list(found) == [*BREAKER_PROBES, POOL_QUESTION]
    for question, answers in found.items():
        assert list(answers) == list(VARIANTS)
        for name, finding in answers.items():
            probed = question == POOL_QUESTION or VARIANTS[name].rejection is not None
            assert (finding != NO_BREAKER) == probed
            assert finding


@pytest.mark.virtual_clock
async def test_a_held_call_ends_as_it_is_told_and_leaves_the_others_alone() -> None:
    async with staged(PIPELINE) as stage:
        held, admitted = await stage.hold(2)
        doomed, _ = await stage.hold()

        assert admitted == 2
        assert await doomed.cancel() == 1
        assert await held.release(SICK) == [SICK, SICK]
        assert await stage.answers(OK) == 1


@pytest.mark.virtual_clock
async def test_a_circuit_that_never_opens_is_told_apart() -> None:
    async with staged(VARIANTS["no_policy"]) as stage:
        with pytest.raises(RuntimeError, match="did not open after 50 failures"):
            await stage.trip()


def test_the_table_has_a_column_a_variant_and_names_versions() -> None:
    lines = as_markdown({"asked": dict.fromkeys(VARIANTS, "found")}).splitlines()

    assert len(lines) == 3
    assert {line.count("|") for line in lines} == {len(VARIANTS) + 2}
    assert "<br>stamina " in lines[0]
    assert "| pipeline |" in lines[0]
    assert lines[2].startswith("| asked | found |")
