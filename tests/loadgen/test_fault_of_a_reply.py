"""What a reply's `X-Chaos` leaves in the samples."""

import pytest

from loadgen import (
    BodyPatternRule,
    Closed,
    HeaderRule,
    JsonFieldRule,
    Load,
    OutcomeRule,
    Request,
    Samples,
    StatusRule,
    TimeOuts,
    run_load,
    summarise,
)
from loadgen.endings import LONGEST_FAULT, fault_of
from tests.loadgen.scripted_server import scripted_server

SOURCE = JsonFieldRule(json_field="source", classes=("fresh",))


def reply(status: int, fault: str | None, body: str = '{"source": "fresh"}') -> bytes:
    mark = "" if fault is None else f"X-Chaos: {fault}\r\n"
    return f"HTTP/1.1 {status} x\r\n{mark}Content-Length: {len(body)}\r\n\r\n{body}".encode()


async def samples_of(*replies: bytes | None, rule: OutcomeRule = SOURCE) -> Samples:
    async with scripted_server(lambda number: replies[number]) as server:
        shape = Closed(requests=len(replies), tasks=1)
        return await run_load(Load(requests=(Request(url=server.url),), shape=shape, outcome=rule))


async def test_each_sample_names_the_faults_that_touched_its_reply() -> None:
    samples = await samples_of(
        reply(200, None),
        reply(500, "failure"),
        reply(200, "delay"),
        reply(200, "delay, body=garbage", body="\x80"),
        reply(200, None),
        reply(500, "failure"),
    )

    assert samples.fault == ["", "failure", "delay", "delay, body=garbage", "", "failure"]
    assert samples.outcome == ["fresh", "error", "fresh", "error", "fresh", "error"]
    assert [sample.fault for sample in samples] == samples.fault


@pytest.mark.parametrize(
    "rule",
    [
        SOURCE,
        StatusRule(statuses={"2xx": "ok"}),
        HeaderRule(header="x-source", classes=("fresh",)),
        BodyPatternRule(patterns={"fresh": "fresh"}),
    ],
)
@pytest.mark.parametrize("status", [200, 404, 500])
async def test_every_rule_keeps_the_fault(rule: OutcomeRule, status: int) -> None:
    samples = await samples_of(reply(status, "delay"), rule=rule)

    assert samples.fault == ["delay"]


async def test_a_reply_that_stays_incomplete_names_the_fault_of_its_head() -> None:
    cut = reply(200, "body=drip")[:-5]
    async with scripted_server(lambda _: cut) as server:
        load = Load(
            requests=(Request(url=server.url),),
            shape=Closed(requests=1, tasks=1),
            outcome=SOURCE,
            time_outs=TimeOuts(whole_s=0.05),
        )
        samples = await run_load(load)

    assert samples.error == ["no complete reply in 0.05 s"]
    assert samples.fault == ["body=drip"]


async def test_without_a_reply_there_is_no_fault_to_name() -> None:
    samples = await samples_of(None)

    assert (samples.outcome, samples.fault) == (["error"], [""])


async def test_the_same_endings_under_different_faults_are_one_class_in_the_summary() -> None:
    samples = await samples_of(reply(500, "failure"), reply(500, None), reply(200, "delay"))

    assert dict(summarise(samples, ("fresh",)).counts) == {
        "fresh": 1,
        "error": 2,
        "generator_error": 0,
    }


async def test_a_fault_survives_the_way_between_processes() -> None:
    samples = await samples_of(reply(500, "failure"), reply(200, None))

    assert Samples.from_document(samples.to_document()).fault == ["failure", ""]


def test_what_a_server_writes_there_is_one_short_printable_line() -> None:
    fault = fault_of({b"x-chaos": b"\x1b[31mred\x00" + b"x" * 9999})

    assert fault.startswith("[31mredx")
    assert len(fault) == LONGEST_FAULT
    assert fault.isprintable()
