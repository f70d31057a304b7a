"""`lab init`: three answers, from options or a person, become two files that run as they are."""

import shlex
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from console import say
from lab.errors import UsageError
from lab.init.first_files import experiment_text, system_text
from lab.spec.problems import FileError
from lab.spec.reading import read_experiment
from loadgen.hosts import is_loopback
from loadgen.quantities import show

SYSTEM_FILE, EXPERIMENT_FILE = "system.yaml", "experiment.yaml"
USUAL_PATH, USUAL_FOLDER = "/", "my-lab"


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOptions:
    """What the command line says; what it leaves open is asked."""

    run: str | None
    url: str | None
    path: str | None
    out: Path | None


def init_command(options: InitOptions) -> int:
    """Write the files and say how to go on.

    Raises:
        UsageError: an answer will not do, or a file of that name is there; nothing was written.
    """
    run, url = options.run, options.url
    if run is None and url is None:
        answer = _ask("How is the service started, with {port} for its port? Or its URL", None)
        run, url = (None, answer) if "://" in answer.partition(" ")[0] else (answer, None)
    path = options.path or _ask("Which path is to be requested?", USUAL_PATH)
    folder = options.out or Path(_ask("Which folder are the files to go to?", USUAL_FOLDER))
    _check(run, path)
    files = {
        SYSTEM_FILE: system_text(run=run, url=url),
        EXPERIMENT_FILE: experiment_text(path=path),
    }
    _check_as_files(files)
    _write(folder, files)
    _say_what_next(folder, url)
    return 0


def _ask(question: str, usual: str | None) -> str:
    hint = f" [{usual}]" if usual else ""
    say(f"{question}{hint}: ", end="")
    line = sys.stdin.readline()
    if not line:
        raise UsageError("no answer came; say it with --run or --url, --path and --out")
    answer = line.strip() or usual
    if answer is None:
        raise UsageError("nothing to start; write e.g. python -m http.server {port}, or a URL")
    return answer


def _check(run: str | None, path: str) -> None:
    if run is not None and "{port}" not in run:
        raise UsageError(
            f"the command must take its port from the lab, got {show(run)}; write {{port}} where "
            "the port goes, or start the service yourself and give its --url"
        )
    if not path.startswith("/"):
        raise UsageError(f"the path must start with /, got {show(path)}; write e.g. /{quote(path)}")


def _check_as_files(files: Mapping[str, str]) -> None:
    """Refuse here what `run` would refuse later."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name, text in files.items():
                (Path(folder) / name).write_text(text, encoding="utf-8")
            read_experiment(Path(folder) / EXPERIMENT_FILE)
        except FileError as error:
            said = "; ".join(problem.message for problem in error.problems)
            raise UsageError(said) from None
        except UnicodeEncodeError:
            raise UsageError("an answer has bytes that are no text; write it in UTF-8") from None


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name in files:
        if (folder / name).exists():
            raise UsageError(f"{folder / name} is there already; name another folder with --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as failure:
        raise UsageError(f"cannot write to {folder}: {failure.strerror}") from failure


def _say_what_next(folder: Path, url: str | None) -> None:
    host = urlsplit(url or "").hostname or "localhost"
    allow = "" if is_loopback(host) else f" --allow-host {host}"
    experiment = shlex.quote(str(folder / EXPERIMENT_FILE))
    system = shlex.quote(str(folder / SYSTEM_FILE))
    say(f"wrote {system} and {experiment}; run them with:")
    say(f"  python -m lab run {experiment}{allow}")
