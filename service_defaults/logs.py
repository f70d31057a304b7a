"""Structured log lines on stderr: JSON, or columns when a person is watching."""

import asyncio
import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import Processor

_SHARED: tuple[Processor, ...] = (
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


def configure_logs(level: str, stream: TextIO | None = None) -> None:
    """Send structlog's events and the standard library's records to one place, a line each.

    Args:
        level: `debug`, `info`, `warning` or `error`; anything below is dropped early.
        stream: Where the lines go (stderr); JSON unless it is a terminal.
    """
    stream = stream or sys.stderr
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_formatter(for_a_person=stream.isatty()))
    handler.addFilter(_is_no_cancellation)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for chatty in ("asyncio", "httpx", "uvicorn.error"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.getLogger().level))


def _formatter(*, for_a_person: bool) -> logging.Formatter:
    rendering: list[Processor] = (
        [structlog.dev.ConsoleRenderer()]
        if for_a_person
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
    )


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    # The server reports each request that it cancels while shutting down as if it had crashed.
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))
