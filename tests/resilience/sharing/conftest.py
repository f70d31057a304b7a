"""The Redis-compatible server that processes share their circuits through."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.valkey import Valkey, valkey


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Valkey]:
    """Run a server for one test."""
    with valkey(tmp_path) as running:
        yield running
