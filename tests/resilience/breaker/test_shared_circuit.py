import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resilience import CircuitClosed, CircuitOpened, Event
from resilience._internal.shared_circuit import Change, Moment, SharedCircuit
from tests.resilience.circuit_scenario import BOOM, BREAK_S, Scenario

NOON_MS = 1_796_000_000_000


class Sharing(Scenario):
    """A circuit whose process `me` started when Redis' clock said noon."""

    def __init__(self, me: str = "me", *, skew_ms: int = 0) -> None:
        super().__init__()
        self.skew_ms = skew_ms
        self.shared = SharedCircuit(self.breaker, process=me)
        self.subscribers.add(self._note, [CircuitOpened, CircuitClosed])
        self.began_s = self.clock()

    def _note(self, event: Event) -> None:
        assert isinstance(event, CircuitOpened | CircuitClosed)
        self.shared.note(event)

    # ruff: noqa: D102 - as of a scenario
    def receive(self, word: str = "", left_ms: int = 20_000) -> tuple[str, int] | None:
        now_s = self.clock()
        redis_ms = NOON_MS + round((now_s - self.began_s) * 1000) + self.skew_ms
        return self.shared.receive(word, left_ms if word else -2, Moment(now_s, redis_ms))

    def close_by_trial(self) -> None:
        self.clock.now_s += BREAK_S
        self.succeed()


def word(state: str, after_s: float, by: str = "other") -> str:
    return str(Change(NOON_MS + round(after_s * 1000), by, state))


def test_a_word_tells_its_change() -> None:
    change = Change(NOON_MS, "me", "open")
    assert Change.parse(str(change)) == change


def test_an_opening_is_told_for_the_rest_of_its_break_and_again_if_it_is_lost() -> None:
    sharing = Sharing()
    sharing.clock.now_s += 2
    sharing.trip()
    sharing.clock.now_s += 1
    told = sharing.receive()
    assert told == (word("open", 2, "me"), 4000)
    assert sharing.receive(told[0]) is None
    assert sharing.receive() == told
    sharing.clock.now_s += 4
    assert sharing.receive() is None


def test_a_closing_by_trial_is_told_and_one_by_hand_is_not() -> None:
    sharing = Sharing()
    sharing.trip()
    sharing.close_by_trial()
    told = sharing.receive()
    assert told is not None
    assert told[0].startswith("closed ")
    sharing.trip()
    sharing.breaker.reset()
    assert sharing.receive() is None


@pytest.mark.parametrize("state", ["open", "closed"])
def test_a_word_that_is_older_than_what_happened_here_is_not_obeyed(state: str) -> None:
    sharing = Sharing()
    sharing.clock.now_s += 10
    sharing.trip()
    if state == "open":
        sharing.close_by_trial()
    before = sharing.breaker.state
    told = sharing.receive(word(state, 9.9))
    assert sharing.breaker.state == before
    assert told is not None
    assert told[0].startswith(before)  # what is newer takes its place


def test_what_happens_after_a_word_was_heard_is_newer_than_it_however_the_clocks_are_read() -> None:
    sharing = Sharing(skew_ms=-30)  # the reading of Redis' clock took a while to arrive
    sharing.receive(word("open", 0.02))
    assert sharing.breaker.state == "open"
    sharing.breaker._blocked_until_s = -math.inf  # the break is over
    sharing.succeed()
    told = sharing.receive(word("open", 0.02))
    assert told is not None
    assert told[0] == word("closed", 0.021, "me")


def test_a_word_from_the_future_is_not_obeyed_and_gives_way() -> None:
    sharing = Sharing()
    sharing.receive(word("open", 5))
    assert sharing.breaker.state == "closed"
    sharing.trip()
    told = sharing.receive(word("closed", 5))
    assert told is not None
    assert told[0] == word("open", 0, "me")


def test_when_redis_clock_is_set_back_what_was_heard_before_no_longer_outweighs() -> None:
    sharing = Sharing()
    sharing.receive(word("closed", 0.5))
    sharing.skew_ms = -3_600_000
    sharing.receive(word("open", -3_599))
    assert sharing.breaker.state == "open"


def test_an_isolated_circuit_heeds_no_word_then_or_after_its_reset() -> None:
    sharing = Sharing()
    sharing.breaker.isolate()
    sharing.clock.now_s += 1
    sharing.receive(word("open", 0.5))
    sharing.breaker.reset()
    assert sharing.receive(word("open", 0.5)) is None
    assert sharing.breaker.state == "closed"


def test_words_of_others_are_not_echoed() -> None:
    sharing = Sharing()
    sharing.receive(word("open", 0))
    assert sharing.receive() is None
    sharing.receive(word("closed", 0.001))
    assert sharing.breaker.state == "closed"
    assert sharing.receive() is None


def test_a_slow_trial_closes_the_circuit_of_another_process_whose_trial_then_opens_none() -> None:
    ours, other = Sharing("ours"), Sharing("other")
    for each in (ours, other):
        each.trip()
        each.clock.now_s += BREAK_S
    slow, others_trial = ours.breaker.admit(), other.breaker.admit()
    for each in (ours, other):
        each.clock.now_s += BREAK_S
    ours.breaker.admit()  # beside the slow one
    slow.success()
    told = ours.receive()
    assert told is not None
    other.receive(told[0])
    assert (ours.breaker.state, other.breaker.state) == ("closed", "closed")
    others_trial.failure(BOOM)
    assert other.breaker.state == "closed"


@given(st.data())
def test_in_whatever_order_circuits_change_read_and_write_they_come_to_one_state(
    data: st.DataObject,
) -> None:
    circuits = [Sharing(f"p{number}", skew_ms=-3 * number) for number in range(3)]
    redis = ""

    def exchange(several: list[Sharing]) -> None:  # who read the same, and write one by one
        nonlocal redis
        for told in [each.receive(redis) for each in several]:
            redis = told[0] if told is not None else redis

    for _ in range(data.draw(st.integers(1, 12))):
        several = data.draw(st.lists(st.sampled_from(circuits), min_size=1, unique=True))
        if data.draw(st.booleans()):
            exchange(several)
        elif several[0].breaker.state == "closed":
            several[0].trip()
        else:
            several[0].breaker._blocked_until_s = -math.inf  # the break is over
            several[0].succeed()
        for each in circuits:
            each.clock.now_s += 0.001
    for _ in range(len(circuits) + 1):  # the oldest may write last, time and again
        exchange(circuits)
    assert len({each.breaker.state for each in circuits}) == 1
