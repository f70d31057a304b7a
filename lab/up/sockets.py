"""Where a running lab is found: `<folder>/<name>.sock`, in a folder that only its user can enter.

The folder is `$XDG_RUNTIME_DIR/resilience-lab`, or `resilience-lab-<uid>` among the temporary
files. A socket that refuses connections belongs to a lab that is dead, and is removed.
"""

import fcntl
import os
import re
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.errors import UsageError
from lab.spec.problems import suggest
from loadgen.quantities import show
from service_defaults.server import listen_unix, listens_unix

ENDING = ".sock"
_NAME = re.compile(r"[A-Za-z0-9_][\w.-]{0,39}", re.ASCII)
_YAML = (".yaml", ".yml")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def name_of(system: str) -> str:
    """Return the name of a system that is given by its file or by the name itself."""
    path = Path(system)
    return path.stem if path.suffix in _YAML else system


@contextmanager
def claimed(name: str) -> Iterator[socket.socket]:
    """Listen, for the length of the block, where commands look for the system called *name*.

    Raises:
        UsageError: a system of that name is up, or the name or the folder will not do.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"a running system's name has 1 to 40 letters, digits, _, - and ., got {show(name)}; "
            "choose one with --name"
        )
    path = socket_of(name)
    with _locked(path.parent):
        if name in _alive(path.parent):
            raise UsageError(
                f"a system called {show(name)} is up already; end it with Ctrl-C where it runs, "
                f"or give this one another name, e.g. --name {name}-2"
            )
        listener = _listen(path)
    try:
        yield listener
    finally:
        listener.close()
        path.unlink(missing_ok=True)


def socket_of(name: str) -> Path:
    """Return where commands look for the system called *name*, whether it is up or not."""
    return runtime_folder() / (name + ENDING)


def find(name: str | None) -> Path:
    """Return the socket of the system called *name*, or of the only one that is up.

    Raises:
        UsageError: there is none, or it is not clear which is meant.
    """
    folder = runtime_folder()
    with _locked(folder):
        names = _alive(folder)
    if not names:
        raise UsageError("no system is up; start one with: python -m lab up SYSTEM.yaml")
    if name is None:
        if len(names) > 1:
            listed = ", ".join(names)
            raise UsageError(f"{len(names)} systems are up: {listed}; name one with --system")
        return folder / (names[0] + ENDING)
    if name_of(name) not in names:
        advice = suggest(name_of(name), names)
        raise UsageError(f"no system called {show(name_of(name))} is up; {advice}")
    return folder / (name_of(name) + ENDING)


def runtime_folder() -> Path:
    """Return the folder of the sockets, made if need be.

    Raises:
        UsageError: it cannot be made, or others can enter it or put something in its place.
    """
    if given := os.environ.get("XDG_RUNTIME_DIR"):
        folder = Path(given) / "resilience-lab"
    else:
        folder = Path(tempfile.gettempdir()) / f"resilience-lab-{os.getuid()}"
    try:
        folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
        found = folder.lstat()
    except OSError as failure:
        raise UsageError(
            f"cannot make {folder}: {failure.strerror}; set XDG_RUNTIME_DIR to a folder of yours"
        ) from failure
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & _OTHERS:
        raise UsageError(
            f"{folder} is no folder that you alone can enter; remove it, or set XDG_RUNTIME_DIR"
        )
    return folder


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other commands from looking while sockets are being made or removed."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _alive(folder: Path) -> list[str]:
    """Return the names of the systems that are up; remove what dead labs left."""
    names = []
    for path in sorted(folder.glob("*" + ENDING)):
        if listens_unix(path):
            names.append(path.name.removesuffix(ENDING))
        else:
            path.unlink(missing_ok=True)
    return names


def _listen(path: Path) -> socket.socket:
    try:
        return listen_unix(path)
    except OSError as failure:
        raise UsageError(
            f"cannot listen at {path}: {failure}; set XDG_RUNTIME_DIR to a folder of yours with a "
            "short path"
        ) from failure
