"""What `lab run` can do with an experiment: run it on a system that is up, then conclude."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rich.console import RenderableType

from lab.engine import Engine
from lab.record import ResultFolder
from lab.running import RunningSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What `lab run` was asked for."""

    file: Path
    out: Path
    only: Sequence[str]
    repeats: int | None
    seed: int | None
    language: str
    allowed_hosts: Sequence[str] = ()  # beside this machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """What is shown on the terminal, and the exit code that the figures are worth."""

    table: RenderableType
    exit_code: int


class Work(Protocol):
    """The table of an experiment, or its timeline.

    Attributes:
        loads_s: what all loads took so far, in seconds.
    """

    loads_s: float

    async def run(
        self, system: RunningSystem, engine: Engine, folder: ResultFolder, seed: int
    ) -> None:
        """Run all that was planned; each finished run is on disk when the next begins.

        Raises:
            NoValidData: a service failed, or the system was not well where it had to be.
        """

    def conclude(self, folder: ResultFolder, *, is_whole: bool, language: str) -> Conclusion:
        """Write `summary.csv` and `table.md` of at least one recorded run.

        Args:
            folder: with the runs.
            is_whole: whether all that was planned has run.
            language: of the table, a key of `LANGUAGES`.
        """
