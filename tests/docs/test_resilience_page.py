"""What docs/resilience.md and docs/resilience-reference.md claim, done."""

import asyncio
import inspect
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import resilience
from examples.resilience_demo.http_server import serving
from examples.resilience_demo.servers import Weather
from tests.docs.console import pasted
from tests.docs.snippets import Snippet, snippets
from tests.valkey import valkey

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "resilience.md"
REFERENCE = ROOT / "docs" / "resilience-reference.md"
README = ROOT / "resilience" / "README.md"
PAGES_SERVER = "http://127.0.0.1:5410"
PAGES_REDIS = "redis://127.0.0.1:6379"


def moved(code: str, places: Mapping[str, str]) -> str:
    """Return code that asks the servers of the test instead of the page's."""
    for theirs, ours in places.items():
        code = code.replace(theirs, ours)
    return code


def in_order() -> Iterator[tuple[str, Snippet]]:
    """Yield where each snippet stands, and it; the reference goes on from the page."""
    for page in (PAGE, REFERENCE):
        for snippet in snippets(page):
            yield f"{page.name}:{snippet.line}", snippet


@pytest.mark.integration
async def test_the_snippets_pasted_in_order_print_what_the_pages_say(tmp_path: Path) -> None:
    for_console = [(place, each) for place, each in in_order() if each.file is None]
    with valkey(tmp_path) as redis:
        async with serving(Weather(lambda: 0.0)) as url:
            at = {PAGES_SERVER: url, PAGES_REDIS: redis.url}
            printed = await pasted([moved(each.code, at) for _, each in for_console], tmp_path)
    told = [(place, each.output or "") for place, each in for_console]
    assert list(zip((place for place, _ in told), printed, strict=True)) == told
    assert len(told) > 25


@pytest.mark.integration
def test_the_test_file_of_the_page_passes(tmp_path: Path) -> None:
    [file] = [each for _, each in in_order() if each.file is not None]
    assert file.file is not None
    (tmp_path / file.file).write_text(file.code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file.file],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.stdout.splitlines()[-1].startswith("1 passed"), done.stdout


@pytest.mark.integration
async def test_the_program_of_the_readme_runs(tmp_path: Path) -> None:
    [program] = snippets(README)
    async with serving(Weather(lambda: 0.0)) as url:
        file = tmp_path / "program.py"
        file.write_text(program.code.replace("https://weather.example", url), encoding="utf-8")
        printed = await output_of(file)
    assert printed.startswith("{'asked': '/kyiv?days=3', 'sky': 'clear'} SourceStatistics(")


async def output_of(program: Path) -> str:
    """Return what a program prints, its errors included, as one that is run beside the test."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, program),
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(50):
            printed, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return printed.decode()


def test_the_readme_names_the_distribution() -> None:
    about = tomllib.loads((README.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert f"`{about['project']['name']}`" in README.read_text(encoding="utf-8")


def tables(page: Path) -> dict[str, list[list[str]]]:
    """Return the rows of each table of a page, by the heading above it."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith("|") and not line.startswith("|--"):
            found.setdefault(heading, []).append([cell.strip() for cell in line.split("|")[1:-1]])
    return found


def exported(kind: type) -> set[str]:
    """Return the names of the library's classes of this kind, its base aside."""
    own = {name: getattr(resilience, name) for name in resilience.__all__}
    classes = {name: each for name, each in own.items() if inspect.isclass(each)}
    return {name for name, each in classes.items() if issubclass(each, kind)} - {kind.__name__}


def listed(heading: str) -> set[str]:
    rows = tables(REFERENCE)[heading][1:]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row[0])}


def test_every_field_of_policies_is_a_row_of_the_table_in_the_order_of_the_layers() -> None:
    _, *rows = tables(REFERENCE)["All policies"]
    fields = [name for row in rows for name in re.findall(r"^`(\w+)", row[1])]
    assert fields == [*resilience.Policies.__dataclass_fields__]


def test_every_event_that_may_be_heard_is_a_row_of_its_table() -> None:
    assert listed("Events") == exported(resilience.Event) - {"CallEvent"}


def test_every_error_is_a_row_of_its_table() -> None:
    assert listed("Errors") == exported(Exception) - {"ResilienceError"}


@pytest.mark.parametrize("heading", ["All policies", "Events", "Errors", "Other names"])
def test_what_a_table_names_the_library_has(heading: str) -> None:
    cells = [cell for row in tables(REFERENCE)[heading][1:] for cell in row]
    names = {name for cell in cells for name in re.findall(r"`([A-Z][A-Za-z]+)`", cell)}
    assert names
    assert {name for name in names if not hasattr(resilience, name)} <= {"TimeoutError"}


def test_every_setting_to_choose_is_one_of_policies() -> None:
    rows = tables(PAGE)["Choosing values"][1:]
    chosen = {name for row in rows for name in re.findall(r"^`(\w+)`", row[0])}
    assert chosen <= set(resilience.Policies.__dataclass_fields__)


def test_every_value_that_the_choice_names_is_within_its_range() -> None:
    """Each "`setting` of value" is one that the settings of the row's policy take."""
    hints = get_type_hints(resilience.Policies)
    named = [
        (policy, setting, float(value))
        for row in tables(PAGE)["Choosing values"][1:]
        for policy in re.findall(r"^`(\w+)`", row[0])
        for setting, value in re.findall(r"`(\w+)` of (\d[\d.]*)", row[1])
    ]
    assert named
    for policy, setting, value in named:
        [settings] = [kind for kind in get_args(hints[policy]) if kind is not type(None)]
        settings(**{setting: value})


def test_every_name_that_is_exported_is_on_one_of_the_pages() -> None:
    words = {
        word for page in (PAGE, REFERENCE) for word in re.findall(r"\w+", page.read_text("utf-8"))
    }
    assert set(resilience.__all__) <= words


def test_the_page_is_read_in_ten_minutes() -> None:
    """At 240 words a minute, those of tables included; code is for the fingers."""
    text = re.sub(r"```.*?```", "", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(re.findall(r"\w[^\s|]*", text)) < 2400
