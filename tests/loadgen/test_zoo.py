"""Against each badly behaved server: no crash, no hang, the right class, and exact totals."""

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest
import uvloop

from loadgen import Closed, JsonFieldRule, Load, Open, Request, Samples, Stage, TimeOuts, run_load
from tests.loadgen import zoo
from tests.loadgen.zoo import FRESH, GOOD, LENGTH, OK, Talk, chunked, coded, says

RULE = JsonFieldRule(json_field="source", classes=("fresh",))
N = 6
WELL = "fresh"
CUT = "reply cut short"
BAD = "reply is not HTTP/1"
GONE = "closed without a reply"
RACE = "closed before a reply, on a reused connection"
SILENCE_S, PATIENCE_S = 0.3, 8.0
LATE = "no complete reply in 0.3 s"
LATE_IN_TURN = {LATE, "no free connection in 0.3 s", "no connection in 0.3 s"}
LONG = "head of the reply is too long"

ZOO: dict[str, tuple[Talk, str]] = {
    "good": (says(GOOD), WELL),
    "drips": (says(*(GOOD[at : at + 1] for at in range(len(GOOD)))), WELL),
    "cut into two reads": (says(GOOD[:40], GOOD[40:], gap_s=0.01), WELL),
    "chunked": (says(chunked(FRESH[:5], FRESH[5:])), WELL),
    "chunked, in drips": (says(chunked(FRESH)[:-4], chunked(FRESH)[-4:], gap_s=0.01), WELL),
    "chunked with a trailer": (says(chunked(FRESH, end=b"0\r\nX-Sum: 9\r\n\r\n")), WELL),
    "interim reply first": (says(b"HTTP/1.1 100 Continue\r\n\r\n" + GOOD), WELL),
    "interim reply, then silence": (says(b"HTTP/1.1 100 Continue\r\n\r\n"), LATE),
    "interim reply, then closed": (says(b"HTTP/1.1 100 Continue\r\n\r\n", closes=True), CUT),
    "early hints with headers": (says(b"HTTP/1.1 103 E\r\nX: y\r\n\r\n" + GOOD), WELL),
    "HTTP/1.0": (says(GOOD.replace(b"1.1", b"1.0"), closes=True), WELL),
    "ends with the connection": (says(OK + b"\r\n" + FRESH, closes=True), WELL),
    "HTTP/1.0 without length": (says(b"HTTP/1.0 200 OK\r\n\r\n" + FRESH, closes=True), WELL),
    "says that it closes": (says(OK + b"connection: Close\r\n" + LENGTH + b"\r\n" + FRESH), WELL),
    "lower-case headers": (says(GOOD.lower().replace(b"http/1.1 200 ok", OK[:-2])), WELL),
    "gzip": (says(coded(b"gzip", zoo.GZIPPED)), WELL),
    "gzip cut short": (says(coded(b"gzip", zoo.GZIPPED[:-9])), "body is gzip cut short"),
    "gzip bomb": (says(coded(b"deflate", zoo.BOMB)), "body is longer than 16 MiB"),
    "204 with a body": (says(b"HTTP/1.1 204 No Content\r\n\r\n" + FRESH), "body is not JSON"),
    "204 with length and body": (
        says(b"HTTP/1.1 204 No Content\r\n" + LENGTH + b"\r\n" + FRESH),
        "body is not JSON",
    ),
    "304 with length": (says(b"HTTP/1.1 304 Not Modified\r\n" + LENGTH + b"\r\n"), "status 304"),
    "redirect": (says(b"HTTP/1.1 302 F\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"), "status 302"),
    "switches protocols": (
        says(b"HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
        "reply switches protocols",
    ),
    "never answers": (zoo.never_answers, LATE),
    "closes early": (zoo.closes_early, GONE),
    "closes at once": (zoo.closes_at_once, GONE),
    "resets": (zoo.resets, GONE),
    "resets in the body": (zoo.resets_in_the_body, CUT),
    "resets a body without a length": (zoo.resets_where_only_an_end_would_end_the_body, CUT),
    "half a status line": (says(b"HTTP/1.1 2", closes=True), CUT),
    "half a head": (says(OK + b"Content-Le", closes=True), CUT),
    "half a head, then silence": (says(OK + b"Content-Le"), LATE),
    "endless head": (zoo.endless_head, LONG),
    "endless header": (zoo.endless_header, LONG),
    "endless interim replies": (zoo.endless_interim, LONG),
    "length too long, closes": (says(GOOD[:-3], closes=True), CUT),
    "length too long, silence": (says(GOOD[:-3]), LATE),
    "length too short": (says(GOOD + b"more"), WELL),
    "two lengths": (says(OK + LENGTH + b"Content-Length: 3\r\n\r\n" + FRESH), BAD),
    "negative length": (says(OK + b"Content-Length: -3\r\n\r\n" + FRESH), BAD),
    "length and chunks": (says(chunked(FRESH).replace(b"\r\n\r\n", b"\r\n" + LENGTH, 1)), BAD),
    "bad chunk": (says(chunked(end=b"zz\r\nx\r\n")), BAD),
    "chunk longer than its size": (says(chunked(end=b"2\r\nabcd\r\n0\r\n\r\n")), BAD),
    "chunks without an end, closes": (says(chunked(FRESH, end=b""), closes=True), CUT),
    "huge chunk size": (says(chunked(end=b"f" * 40 + b"\r\n")), BAD),
    "two status lines": (says(OK + GOOD), BAD),
    "a reply too many": (says(GOOD + GOOD), WELL),
    "rubbish after the reply": (says(GOOD + b"\0\xff"), WELL),
    "folded header": (says(OK + b"X: a\r\n b\r\n" + LENGTH + b"\r\n" + FRESH), BAD),
    "NUL in a header": (says(OK + b"X: a\0b\r\n" + LENGTH + b"\r\n" + FRESH), BAD),
    "NUL bytes": (says(b"\0" * 100), BAD),
    "not HTTP": (says(b"220 ready\r\n"), BAD),
    "HTTP/2": (says(b"HTTP/2 200 OK\r\n\r\n"), BAD),
    "lower-case protocol": (says(b"http/1.1 200 OK\r\n\r\n"), BAD),
    "bare line feeds": (says(GOOD.replace(b"\r\n", b"\n")), BAD),
    "status with two digits": (says(b"HTTP/1.1 20 OK\r\n\r\n"), BAD),
}
CLOSED = Closed(requests=N, tasks=3)
OPEN = Open(stages=(Stage(duration_s=0.06, rate_per_s=100),), max_connections=2)


async def send(talk: Talk, shape: Closed | Open, whole_s: float) -> Samples:
    async with zoo.badly_behaved(talk) as url:
        load = Load(
            requests=(Request(url=url),),
            shape=shape,
            outcome=RULE,
            time_outs=TimeOuts(whole_s=whole_s),
        )
        return await run_load(load)


@pytest.mark.parametrize(
    ("shape", "loop"),
    [(CLOSED, uvloop.new_event_loop), (OPEN, asyncio.new_event_loop)],
    ids=["closed, uvloop", "open, asyncio's loop"],
)
@pytest.mark.parametrize("name", ZOO)
def test_every_reply_is_in_the_class_that_a_person_would_give_it(
    name: str, shape: Closed | Open, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    talk, expected = ZOO[name]
    is_silent = expected == LATE
    sending = send(talk, shape, SILENCE_S if is_silent else PATIENCE_S)
    with asyncio.Runner(loop_factory=loop) as runner:
        samples = runner.run(asyncio.wait_for(sending, 10))

    found = Counter(end.error or end.outcome for end in samples.count_endings().elements())
    assert found.total() == len(samples) == N
    assert set(found) <= (LATE_IN_TURN if is_silent else {expected})
