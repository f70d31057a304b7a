"""The demo as a reader runs it."""

import asyncio
import io
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
import stamina.instrumentation

from examples.resilience_demo import __main__ as command
from examples.resilience_demo.output import Output
from resilience.testing import VirtualClockLoop

KINDS = {
    *("HTTP-429", "RETRY", "THROTTLED", "CB-REJECT"),
    *("CIRCUIT-OPEN", "HALF-OPEN", "CIRCUIT-CLOSED"),
}
LINE = re.compile(
    r"\+ ?(?P<at_s>\d+\.\d{3})s (?P<source>CryptoExchange|Weather) +"
    r"(?P<call>#\d{3})? +(?P<kind>\S+)"
)


def play(seed: int) -> str:
    """Return what the demo says, without waiting for it."""
    told = io.StringIO()
    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        assert runner.run(command._play(seed, Output(told), colour=False)) == []
    return told.getvalue()


@pytest.fixture(scope="module")
def output() -> Iterator[str]:
    stamina.instrumentation.set_on_retry_hooks([])
    yield play(7)
    stamina.instrumentation.set_on_retry_hooks(None)


def timeline(output: str) -> Iterator[re.Match[str]]:
    for line in output.split("\n\nSUMMARY\n", maxsplit=1)[0].splitlines():
        match = LINE.match(line)
        assert match, line
        yield match


def table(output: str) -> dict[str, dict[str, str]]:
    rows = output.split("\n\nSUMMARY\n")[1].splitlines()
    names, *columns = zip(*(re.split(r" {2,}", row.strip()) for row in rows), strict=True)
    return {column[0]: dict(zip(names, column, strict=True)) for column in columns}


def test_the_timeline_has_every_kind_of_event(output: str) -> None:
    assert {match["kind"] for match in timeline(output)} >= KINDS


def test_the_timeline_runs_forward(output: str) -> None:
    times = [float(match["at_s"]) for match in timeline(output)]
    assert times == sorted(times)
    assert times[-1] < 30


def test_the_weathers_circuit_opens_fails_its_trial_and_closes_in_this_order(output: str) -> None:
    changes = {"CIRCUIT-OPEN", "HALF-OPEN", "CIRCUIT-CLOSED"}
    of_weather = [
        match["kind"]
        for match in timeline(output)
        if match["source"] == "Weather" and match["kind"] in changes
    ]
    opened_again = ["CIRCUIT-OPEN", "HALF-OPEN", "CIRCUIT-OPEN", "HALF-OPEN", "CIRCUIT-CLOSED"]
    assert of_weather == opened_again


def test_calls_are_numbered_and_circuits_are_not(output: str) -> None:
    for match in timeline(output):
        of_a_call = match["kind"] not in {"CIRCUIT-OPEN", "HALF-OPEN", "CIRCUIT-CLOSED"}
        assert bool(match["call"]) == of_a_call, match[0]


@pytest.mark.parametrize("source", ["CryptoExchange", "Weather"])
def test_the_printed_summary_adds_up(output: str, source: str) -> None:
    row = table(output)[source]
    requests, ok, failed, attempts, retries, rejects = (
        int(row[column])
        for column in ("Requests", "OK", "Failed", "Attempts", "Retries", "CB rejects")
    )
    assert requests == 50
    assert requests == ok + failed
    assert retries == attempts + rejects - requests


def test_the_summary_counts_what_the_timeline_tells(output: str) -> None:
    told = [(match["source"], match["kind"]) for match in timeline(output)]
    for source, row in table(output).items():
        for column, kind in (
            ("RL waits", "THROTTLED"),
            ("HTTP 429", "HTTP-429"),
            ("CB opened", "CIRCUIT-OPEN"),
            ("CB rejects", "CB-REJECT"),
        ):
            assert int(row[column]) == told.count((source, kind)), (source, column)


def test_one_source_in_trouble_leaves_the_other_alone(output: str) -> None:
    rows = table(output)
    assert rows["CryptoExchange"]["OK"] == "50"
    assert rows["CryptoExchange"]["CB rejects"] == "0"
    assert int(rows["Weather"]["Failed"]) > 0


def test_a_seed_tells_the_same_story_each_time(output: str) -> None:
    assert play(7) == output
    assert play(8) != output


def test_into_a_pipe_it_ends_well_and_without_colour() -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-m", "examples.resilience_demo", "--seed", "7"],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert set(table(ended.stdout)) == {"CryptoExchange", "Weather"}
    assert "\x1b" not in ended.stdout
