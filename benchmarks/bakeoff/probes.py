"""What the libraries do when calls are cancelled and circuits half-open.

`python -m benchmarks.bakeoff.probes` prints the findings as a Markdown table.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

import stamina.instrumentation

from benchmarks.bakeoff.breaker_probes import (
    CANCELLED,
    CROWD,
    cancellations_kept,
    cancelled_calls,
    cancelled_trial,
    half_open_crowd,
    late_failure,
    late_success,
    scattered_failures,
    split_trials,
)
from benchmarks.bakeoff.pool_probe import SLOTS, slots_left
from benchmarks.bakeoff.variants import VARIANTS, Variant

Probe = Callable[[Variant], Awaitable[str]]

BREAKER_PROBES: Mapping[str, Probe] = MappingProxyType(
    {
        "cancelled calls count as": cancelled_calls,
        f"of {CANCELLED} cancelled tasks end as cancelled": cancellations_kept,
        f"half-open, {CROWD} calls at once: let through": half_open_crowd,
        "half-open, the trial is cancelled: the circuit": cancelled_trial,
        "half-open, a trial fails, then one succeeds: the circuit": split_trials,
        "67 % failures, never three in a row: the circuit": scattered_failures,
        "a success from before the circuit opened": late_success,
        "a failure from before the circuit opened": late_failure,
    }
)
POOL_QUESTION = f"of {SLOTS} connections, usable after cancelled calls"
NO_BREAKER = "no breaker"


async def findings() -> dict[str, dict[str, str]]:
    """Return the finding by question and variant."""
    found: dict[str, dict[str, str]] = {}
    for question, probe in BREAKER_PROBES.items():
        answers = await asyncio.gather(*(_ask(probe, each) for each in VARIANTS.values()))
        found[question] = dict(zip(VARIANTS, answers, strict=True))
    found[POOL_QUESTION] = {name: await slots_left(each) for name, each in VARIANTS.items()}
    return found


async def _ask(probe: Probe, variant: Variant) -> str:
    return await probe(variant) if variant.rejection else NO_BREAKER


def as_markdown(found: Mapping[str, Mapping[str, str]]) -> str:
    """Return the findings as a table, a column a variant, with the versions above."""
    heads = [f"{name}<br>{each.versions}".removesuffix("<br>") for name, each in VARIANTS.items()]
    rows = [["", *heads], ["---"] * (len(heads) + 1)]
    rows += [[question, *answers.values()] for question, answers in found.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    stamina.instrumentation.set_on_retry_hooks([])
    print(as_markdown(asyncio.run(findings())))
