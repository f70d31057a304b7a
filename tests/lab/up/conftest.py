"""One lab for many tests: they leave it as they find it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.up.running_lab import RunningLab, lab_up, runtime_folder


@pytest.fixture(scope="module")
def runtime() -> Iterator[Path]:
    """Return the folder in which commands of this process look for running labs."""
    before = os.environ.get("XDG_RUNTIME_DIR")
    with runtime_folder() as folder:
        os.environ["XDG_RUNTIME_DIR"] = str(folder)
        yield folder
    if before is None:
        del os.environ["XDG_RUNTIME_DIR"]
    else:
        os.environ["XDG_RUNTIME_DIR"] = before


@pytest.fixture(scope="module")
def shared_lab(runtime: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningLab]:
    with lab_up(tmp_path_factory.mktemp("up"), runtime) as lab:
        yield lab


@pytest.fixture
def lab(shared_lab: RunningLab) -> Iterator[RunningLab]:
    """Return a lab whose services run without a fault."""
    yield shared_lab
    shared_lab.clear()
