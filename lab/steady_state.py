"""Is the system well before its fault? Otherwise nothing that is measured would mean anything."""

from pathlib import Path

from lab.errors import NoValidData
from loadgen import Samples


def check_steady_state(samples: Samples, *, before: str, logs: Path) -> None:
    """Make sure that the healthy system made no error.

    Args:
        samples: of a short load on it.
        before: what was to come.
        logs: where the services say more.

    Raises:
        NoValidData: it did, or the generator could not send.
    """
    if samples.report is not None and samples.report.unsent:
        raise NoValidData(f"the generator failed before {before}: {samples.report.limits[0]}")
    failures = [error for error in samples.error if error]
    if failures:
        raise NoValidData(
            f"steady state does not hold before {before}: {len(failures)} of {len(samples)} "
            f"requests to the healthy system failed, the first with {failures[0]!r}; see {logs}"
        )
