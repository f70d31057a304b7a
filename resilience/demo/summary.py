"""What became of the calls, and what must add up."""

from collections.abc import Iterable, Iterator, Sequence

from resilience import SourceStatistics

_COLUMNS = (
    *("Source", "Requests", "OK", "Failed", "Attempts", "Retries", "RL waits", "RL wait total"),
    *("HTTP 429", "CB opened", "CB rejects", "Circuit", "Finished at"),
)


def summary(of: Sequence[SourceStatistics], *, began_s: float) -> list[str]:
    """Return the lines of a table, a row a source.

    Args:
        of: What was counted.
        began_s: What "Finished at" counts from, on the event loop's clock.
    """
    rows = [_COLUMNS, *(_cells(each, began_s) for each in of)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


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
