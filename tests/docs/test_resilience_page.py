"""What docs/resilience.md claims, done."""

import ast
import asyncio
import contextlib
import inspect
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stamina.instrumentation

import resilience
from resilience.demo.http_server import serving
from resilience.demo.servers import Weather
from tests.docs.snippets import Snippet, snippets

PAGE = Path(__file__).parents[2] / "docs" / "resilience.md"
PAGES_SERVER = "http://127.0.0.1:5410"


async def run(snippet: Snippet, names: dict[str, Any], url: str) -> str:
    """Run a snippet where the ones before it left their names; return what it printed."""
    code = compile(
        "\n" * (snippet.line - 1) + snippet.code.replace(PAGES_SERVER, url),
        str(PAGE),
        "exec",
        flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
    )
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if code.co_flags & inspect.CO_COROUTINE:
            await eval(code, names)  # noqa: S307 - the page's own code
        else:
            await asyncio.to_thread(exec, code, names)  # it may run a loop of its own
    return printed.getvalue()


@pytest.fixture
def own_stamina_hooks() -> Iterator[None]:
    """The page switches stamina's logging off, for the whole process."""
    yield
    stamina.instrumentation.set_on_retry_hooks(None)


@pytest.mark.usefixtures("own_stamina_hooks")
async def test_every_snippet_runs_and_prints_what_the_page_says() -> None:
    ran, names = 0, {"__name__": "__main__"}
    async with serving(Weather(lambda: 0.0)) as url:
        for snippet in snippets(PAGE):
            printed = await run(snippet, names, url)
            assert printed == (snippet.output or ""), f"line {snippet.line}"
            ran += 1
    assert ran >= 15


def tables() -> dict[str, list[list[str]]]:
    """Return the rows of each table of the page, by the heading above it."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith("|") and not line.startswith("|--"):
            found.setdefault(heading, []).append([cell.strip() for cell in line.split("|")[1:-1]])
    return found


def test_every_field_of_policies_is_a_row_of_the_table_in_the_order_of_the_layers() -> None:
    _, *rows = tables()["All policies"]
    fields = [name for row in rows for name in re.findall(r"^`(\w+)", row[1])]
    assert fields == [*resilience.Policies.__dataclass_fields__]


def test_every_event_is_a_row_of_its_table() -> None:
    listed = {name for row in tables()["Events"][1:] for name in re.findall(r"`(\w+)`", row[0])}
    kinds = {
        name
        for name in resilience.__all__
        if inspect.isclass(kind := getattr(resilience, name)) and issubclass(kind, resilience.Event)
    }
    assert listed == kinds - {"Event"}


@pytest.mark.parametrize("heading", ["All policies", "Events", "Errors"])
def test_what_a_table_names_the_library_has(heading: str) -> None:
    cells = [cell for row in tables()[heading][1:] for cell in row]
    names = {name for cell in cells for name in re.findall(r"`([A-Z][A-Za-z]+)`", cell)}
    assert names
    assert {name for name in names if not hasattr(resilience, name)} <= {"Idempotency"}
