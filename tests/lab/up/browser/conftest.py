"""Tests in a real browser need one."""

import os
import shutil
import sys
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_browser() -> str | None:
    """Return the path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave these tests out, and say so, for somebody who has no browser and cannot install one.

    Whoever can install it, as root in CI, gets the failure of the fixture instead.
    """
    if find_browser() or os.geteuid() == 0:
        return
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    speaks = os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0"
    if here and speaks and sys.__stderr__ is not None:
        sys.__stderr__.write(
            f"{len(here)} browser test(s) left out: no {' or '.join(NAMES)} on PATH\n"
        )
    items[:] = [item for item in items if item not in here]
    config.hook.pytest_deselected(items=here)


@pytest.fixture(scope="session")
def browser_path() -> str:
    """Return the path of a Chromium; fail where there is none."""
    path = find_browser()
    if path is None:
        names = " or ".join(NAMES)
        pytest.fail(f"no {names} on PATH; install one: apt-get install chromium", pytrace=False)
    return path
