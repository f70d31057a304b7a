import pickle

import pytest

from resilience import (
    AttemptTimeout,
    BulkheadFull,
    CircuitOpen,
    OpenedElsewhere,
    RateLimited,
    ResilienceError,
    ResponseTooLarge,
    TotalTimeout,
    UndecodableBody,
)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (AttemptTimeout(0.3), "not answered within 0.3 s"),
        (TotalTimeout(1), "did not end within 1 s"),
        (CircuitOpen("rates", 1.5, 503), "'rates' is open after 503; the next call may try in 1.5"),
        (CircuitOpen("rates", None, None), "isolated by hand"),
        (OpenedElsewhere("3f"), "the process 3f found"),
        (RateLimited("rates", 1.5, 7), "7 calls wait, and this one would wait 1.500 s"),
        (BulkheadFull("rates", 2, 7), "2 calls to 'rates' run and 7 wait"),
        (ResponseTooLarge(10), "larger than 10 bytes"),
        (UndecodableBody("it ends in the middle"), "cannot be decoded: it ends in the middle"),
    ],
)
def test_an_error_words_itself_and_survives_a_copy(error: ResilienceError, words: str) -> None:
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert words in str(error)
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize("error", [AttemptTimeout(0.3), TotalTimeout(1)])
def test_a_time_out_is_what_python_calls_one(error: ResilienceError) -> None:
    assert isinstance(error, TimeoutError)
