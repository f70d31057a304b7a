"""What a fault does to one request: a pure decision."""

import random
from dataclasses import dataclass

from chaos.document import ChaosDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The reply that a request gets in place of its own."""

    status: int
    retry_after_s: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What happens to a request: first the delay, then the failure (if any) in place of the reply.

    `touched` names the fields of the document that did it, in the order of their effect.
    """

    delay_s: float  # >= 0
    failure: Failure | None
    touched: tuple[str, ...]


def judge(document: ChaosDocument, dice: random.Random, n: int) -> Verdict:
    """Return what *document* does to the *n*-th request since it was put on (n >= 1).

    Exactly two numbers are drawn from *dice* a request, whatever the document says: adding a
    jitter or a `failFirst` to a seeded run leaves untouched which of the later requests fail.
    """
    failure_roll, jitter_roll = dice.random(), dice.random()
    delay_ms = max(0.0, document.delay_ms + document.jitter_ms * (2 * jitter_roll - 1))
    cause = _cause(document, failure_roll, n)
    return Verdict(
        delay_s=delay_ms / 1000,
        failure=_failure(document) if cause else None,
        touched=("delay",) * (delay_ms > 0) + cause,
    )


def _cause(document: ChaosDocument, roll: float, n: int) -> tuple[str, ...]:
    if n <= document.fail_first:
        return ("failFirst",)
    return ("failure",) if roll < document.failure else ()


def _failure(document: ChaosDocument) -> Failure:
    return Failure(status=document.status, retry_after_s=document.retry_after_s)
