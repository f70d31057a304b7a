import asyncio
import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from service_defaults.logs import configure_logs


class Terminal(io.StringIO):
    """A stream that a person watches."""

    def isatty(self) -> bool:
        """Say so."""
        return True


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_lines_are_json_when_nobody_watches_whoever_wrote_them() -> None:
    stream = io.StringIO()
    configure_logs("info", stream)
    structlog.get_logger().info("breaker.opened", source="rates")
    logging.getLogger("somebody.else").warning("watch out")

    events = [json.loads(line) for line in stream.getvalue().splitlines()]

    assert [(each["event"], each["level"]) for each in events] == [
        ("breaker.opened", "info"),
        ("watch out", "warning"),
    ]
    assert events[0]["source"] == "rates"


def test_lines_are_for_reading_on_a_terminal() -> None:
    stream = Terminal()
    configure_logs("info", stream)
    structlog.get_logger().info("breaker.opened")

    assert "breaker.opened" in stream.getvalue()
    assert not stream.getvalue().startswith("{")


def test_what_is_below_the_level_is_dropped() -> None:
    stream = io.StringIO()
    configure_logs("error", stream)
    structlog.get_logger().warning("hidden")
    logging.getLogger("uvicorn.error").warning("hidden too")

    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("error", "lines"), [(asyncio.CancelledError(), 0), (RuntimeError("bug"), 1)]
)
def test_only_cancelled_requests_are_no_errors(error: BaseException, lines: int) -> None:
    stream = io.StringIO()
    configure_logs("info", stream)
    logging.getLogger("uvicorn.error").error("Exception in ASGI application", exc_info=error)

    assert len(stream.getvalue().splitlines()) == lines
