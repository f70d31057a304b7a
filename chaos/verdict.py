"""What a fault does to one request: a pure decision."""

import random
from dataclasses import dataclass
from typing import Literal

from chaos.document import BodyFault, ChaosDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The reply that a request gets in place of its own."""

    cause: Literal["failFirst", "failure"]
    status: int
    retry_after_s: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is to happen to a request, in this order; a hang excludes all that follows it."""

    hang: bool
    delay_s: float  # >= 0
    failure: Failure | None
    body: BodyFault | None
    garbage_seed: int  # of the bytes that a body is replaced by

    @property
    def touched(self) -> tuple[str, ...]:
        """What the request is to be marked with, in the order of effect; nothing: left alone."""
        if self.hang:
            return ("hang",)
        return (
            *(("delay",) if self.delay_s else ()),
            *((self.failure.cause,) if self.failure else ()),
            *((f"body={self.body}",) if self.body else ()),
        )


def judge(document: ChaosDocument, dice: random.Random, n: int) -> Verdict:
    """Return what *document* does to the *n*-th request that it concerns (n >= 1).

    Exactly three numbers are drawn from *dice* a request, whatever the document says: adding a
    jitter, a `failFirst` or a `body` to a seeded run leaves untouched which of the later requests
    fail.
    """
    failure_roll, jitter_roll, garbage_seed = dice.random(), dice.random(), dice.getrandbits(32)
    if document.hang:
        return Verdict(hang=True, delay_s=0, failure=None, body=None, garbage_seed=garbage_seed)
    delay_ms = max(0.0, document.delay_ms + document.jitter_ms * (2 * jitter_roll - 1))
    return Verdict(
        hang=False,
        delay_s=delay_ms / 1000,
        failure=_failure(document, failure_roll, n),
        body=document.body,
        garbage_seed=garbage_seed,
    )


def _failure(document: ChaosDocument, roll: float, n: int) -> Failure | None:
    is_first = n <= document.fail_first
    if not is_first and roll >= document.failure:
        return None
    return Failure(
        cause="failFirst" if is_first else "failure",
        status=document.status,
        retry_after_s=document.retry_after_s,
    )
