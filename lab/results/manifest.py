"""What a run was: the experiment as it was resolved, the seed, versions, host and commit."""

import dataclasses
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from lab.errors import UsageError
from lab.results.outline import Outline
from lab.spec.experiment import Experiment

FORMAT_VERSION = 2  # 1: the first; 2: with the outline of which the report is made
PACKAGES = ("aiohttp", "fastapi", "httpx", "pybreaker", "redis", "stamina", "uvicorn", "uvloop")


def first_manifest(
    experiment: Experiment, outline: Outline, *, seed: int, started: datetime
) -> dict[str, Any]:
    """Return the manifest of a run that begins now; the rest is added when it ends."""
    return {
        "format_version": FORMAT_VERSION,
        "status": "running",
        "started_utc": started.astimezone(UTC).isoformat(timespec="milliseconds"),
        "seed": seed,
        "experiment": plain(experiment),
        "outline": TypeAdapter(Outline).dump_python(outline, mode="json"),
        "versions": {"python": platform.python_version()} | _package_versions(),
        "host": {
            "system": platform.platform(),
            "machine": platform.machine(),
            "processors": os.cpu_count(),
        },
        "git_commit": _git_commit(experiment.path.parent),
        "command": sys.argv[1:],
    }


def outline_in(manifest: Mapping[str, Any]) -> Outline:
    """Return the outline that a manifest has.

    Raises:
        UsageError: it has none that this version of the lab can read.
    """
    try:
        return TypeAdapter(Outline).validate_python(manifest.get("outline"))
    except ValidationError as error:
        version = manifest.get("format_version")
        raise UsageError(
            f"the result has format version {version}, and this lab reads {FORMAT_VERSION}; "
            "report it with the version of the lab that has made it"
        ) from error


def plain(value: object) -> Any:  # noqa: ANN401 - JSON is what it is
    """Turn nested models, dataclasses, mappings, tuples and paths into JSON-ready values."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields.items()
        return {name: plain(getattr(value, name)) for name, info in fields if not info.exclude}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.init]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _package_versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in PACKAGES if _is_installed(name)}


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _git_commit(folder: Path) -> str | None:
    """Return the commit of the checkout that *folder* is in, with `+` if it has changes."""
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return commit + ("+" if _git(folder, "status", "--porcelain") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603 - fixed words
    return done.stdout.strip()
