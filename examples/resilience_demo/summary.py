"""What became of the calls, and what must add up."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from resilience import SourceStatistics

_FIGURES = (
    *("Source", "Requests", "OK", "Failed", "Attempts", "Retries", "RL waits", "RL wait total"),
    *("HTTP 429", "CB opened", "CB rejects", "Circuit", "Finished at"),
)
_GAP = "  "


def summary(of: Sequence[SourceStatistics], *, began_s: float) -> list[str]:
    """Return the lines of a table: a row a figure and a column a source, for narrow terminals.

    Args:
        of: What was counted.
        began_s: What "Finished at" counts from, on the event loop's clock.
    """
    columns = [_aligned(_cells(each, began_s), str.rjust) for each in of]
    return [_GAP.join(row) for row in zip(_aligned(_FIGURES, str.ljust), *columns, strict=True)]


def broken_identities(of: Iterable[SourceStatistics]) -> Iterator[str]:
    """Yield what does not add up in the table, a sentence each; nothing when all does."""
    for each in of:
        if each.requests != each.ok + each.failed:
            yield (
                f"{each.source}: Requests = OK + Failed does not hold: "
                f"{each.requests} != {each.ok} + {each.failed}"
            )
        if each.retries != each.attempts + each.circuit_rejects - each.requests:
            yield (
                f"{each.source}: Retries = Attempts + CB rejects - Requests does not hold: "
                f"{each.retries} != {each.attempts} + {each.circuit_rejects} - {each.requests}"
            )


def _aligned(cells: Sequence[str], justify: Callable[[str, int], str]) -> list[str]:
    width = max(map(len, cells))
    return [justify(cell, width) for cell in cells]


def _cells(of: SourceStatistics, began_s: float) -> tuple[str, ...]:
    finished = "-" if of.finished_at_s is None else f"{of.finished_at_s - began_s:.2f}s"
    counts = (of.requests, of.ok, of.failed, of.attempts, of.retries, of.rate_limit_waits)
    return (
        of.source,
        *map(str, counts),
        f"{of.rate_limit_wait_s:.2f}s",
        *map(str, (of.http_429, of.circuit_opened, of.circuit_rejects)),
        of.circuit or "-",
        finished,
    )
