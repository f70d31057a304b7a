"""The tools that there are, and how each is called."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from benchmarks.load import outputs
from benchmarks.load.reading import Reading
from benchmarks.load.target import pinned

OURS, YARDSTICKS = "loadgen", ("wrk", "hey")
_GRACE_S = 60.0
_ROOT = Path(__file__).parents[2]
_MOST_AB_REQUESTS = 2_000_000  # ab stops there; it allots memory for all


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One run: where to send, what kind of replies comes back, on how many connections, how long.

    Attributes:
        origin: `http://host:port`.
        kind: of the replies, which is also the path.
    """

    origin: str
    kind: str
    connections: int
    duration_s: int

    @property
    def url(self) -> str:
        """What is asked for."""
        return f"{self.origin}/{self.kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A load generator.

    Attributes:
        name: as it stands in the tables.
        program: what is looked for on PATH, or the Python package if it is a client in Python.
        arguments: of the command line for a call, without the program.
        parse: reads what it prints.
        module: of a client in Python.
    """

    name: str
    program: str
    arguments: Callable[[Call], list[str]]
    parse: outputs.Parse
    module: str = ""

    def is_installed(self) -> bool:
        """Tell whether the tool can be run."""
        found = find_spec(self.program) if self.module else shutil.which(self.program)
        return found is not None

    def run(self, call: Call, *, core: int) -> Reading:
        """Run the tool on one core, in a folder of its own.

        Raises:
            RuntimeError: it fails or does not end.
            ValueError: its output is not as expected.
        """
        own = [sys.executable, "-m", self.module] if self.module else [self.program]
        command = pinned([*own, *self.arguments(call)], core)
        with tempfile.TemporaryDirectory() as folder:
            output, cpu_s = _output_of(command, Path(folder), call.duration_s + _GRACE_S)
            reading = self.parse(output, Path(folder))
        return replace(reading, cpu_s=cpu_s) if reading.cpu_s is None else reading


def _output_of(command: list[str], folder: Path, limit_s: float) -> tuple[str, float]:
    """Return what a command prints, and the processor time of it and its children."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LOCUST_")}
    before_s = _children_cpu_s()
    done = subprocess.run(
        command,
        cwd=folder,
        env=kept | {"PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(command)} ended with {done.returncode}; it says:\n{done.stderr[-2000:]}"
        )
    return done.stdout, _children_cpu_s() - before_s


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _python(call: Call) -> list[str]:
    return [call.url, str(call.connections), str(call.duration_s)]


TOOLS = (
    Tool(
        name=OURS,
        program="loadgen",
        arguments=_python,
        parse=outputs.python_client,
        module="benchmarks.load.own_engine",
    ),
    Tool(
        name="wrk",
        program="wrk",
        arguments=lambda call: (
            ["-t1", f"-c{call.connections}", f"-d{call.duration_s}s", "--latency", call.url]
        ),
        parse=outputs.wrk,
    ),
    Tool(
        name="hey",
        program="hey",
        arguments=lambda call: (
            ["-cpus", "1", "-c", str(call.connections), "-z", f"{call.duration_s}s", call.url]
        ),
        parse=outputs.hey,
    ),
    Tool(
        name="ab",
        program="ab",
        arguments=lambda call: [
            *("-q", "-k", "-l", "-c", str(call.connections), "-t", str(call.duration_s)),
            *("-n", str(_MOST_AB_REQUESTS), "-e", outputs.AB_PERCENTILES, call.url),
        ],
        parse=outputs.ab,
    ),
    Tool(
        name="autocannon",
        program="autocannon",
        arguments=lambda call: (
            ["--json", "-c", str(call.connections), "-d", str(call.duration_s), call.url]
        ),
        parse=outputs.autocannon,
    ),
    Tool(
        name="aiohttp",
        program="aiohttp",
        arguments=_python,
        parse=outputs.python_client,
        module="benchmarks.load.aiohttp_tasks",
    ),
    Tool(
        name="Locust FastHttpUser",
        program="locust",
        arguments=_python,
        parse=outputs.python_client,
        module="benchmarks.load.locust_users",
    ),
    Tool(
        name="httpx",
        program="httpx",
        arguments=_python,
        parse=outputs.python_client,
        module="benchmarks.load.httpx_tasks",
    ),
)
