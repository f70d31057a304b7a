"""The JSON Schema: what it takes, what it refuses, and that the committed one is up to date."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab.cli import main
from lab.spec.schema import MODELS, as_text, with_tables
from tests.lab.spec.folder import EXPERIMENT, SYSTEM

ROOT = Path(__file__).parents[3]
SCHEMAS = ROOT / "docs" / "schema"
FIRST_LINE = "# yaml-language-server: $schema=../docs/schema/{}.json"


def check(kind: str, *files: Path) -> subprocess.CompletedProcess[str]:
    schema = str(SCHEMAS / f"{kind}.json")
    argv = [sys.executable, "-m", "check_jsonschema", "--schemafile", schema, *map(str, files)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.parametrize("kind", MODELS)
def test_the_schema_in_the_docs_and_of_the_command_is_the_one_of_the_models(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", kind]) == 0

    printed = capsys.readouterr().out
    assert printed == as_text(kind)
    assert (SCHEMAS / f"{kind}.json").read_text(encoding="utf-8") == printed, "run `make schema`"


def test_the_tables_of_keys_in_the_docs_are_those_of_the_models() -> None:
    page = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")

    assert with_tables(page) == page, "run `make schema`"


@pytest.mark.parametrize(("kind", "folder"), [("experiment", "experiments"), ("system", "systems")])
def test_the_schema_takes_our_own_files_which_name_it_for_editors(kind: str, folder: str) -> None:
    files = sorted((ROOT / folder).glob("*.yaml"))

    checked = check(kind, *files)

    assert files
    assert checked.returncode == 0, checked.stdout
    for file in files:
        assert file.read_text(encoding="utf-8").splitlines()[0] == FIRST_LINE.format(kind)


@pytest.mark.parametrize(
    ("kind", "replace", "by"),
    [
        ("experiment", "repeats: 5", "repeat: 5"),
        ("experiment", "repeats: 5", "repeats: five"),
        ("experiment", "delay: 500ms", "delay: 500"),
        ("experiment", "delay: 500ms", "dely: 500ms"),
        ("experiment", "{pause: rates}", "{flap: rates, down: 1}"),
        ("experiment", "classes: [fresh, stale]", "classes: fresh"),
        ("experiment", "title: Converter under faults\n", ""),
        ("experiment", "fresh: 100 %", "fresh: all"),
        ("system", "backing: redis", "backing: reddis"),
        ("system", "chaos: /chaos", "chaos: chaos"),
        ("system", "{backing: redis}", "{}"),
    ],
)
def test_the_schema_refuses_what_is_wrong_without_any_name(
    tmp_path: Path, kind: str, replace: str, by: str
) -> None:
    right = EXPERIMENT if kind == "experiment" else SYSTEM
    assert replace in right
    (tmp_path / "right.yaml").write_text(right)
    (tmp_path / "wrong.yaml").write_text(right.replace(replace, by))

    assert check(kind, tmp_path / "right.yaml").returncode == 0
    assert check(kind, tmp_path / "wrong.yaml").returncode == 1
