"""The image is pinned, small, unprivileged and complete."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.deploy.compose_file import ROOT
from tests.deploy.dockerfile import (
    DOCKERFILE,
    build_context,
    copies,
    last_stage,
    read_instructions,
)

_PYTHON_IMAGE = re.compile(r"python:(\d+)\.(\d+)\.\d+-slim-[a-z]+ AS base")


def lint(text: str) -> str:
    """Return what hadolint has to say about a Dockerfile."""
    hadolint = Path(sys.executable).with_name("hadolint")
    checked = subprocess.run(
        [hadolint, "-"],
        input=text,
        env={},  # nobody's own configuration
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return checked.stdout + checked.stderr


def test_the_linter_has_nothing_to_say() -> None:
    assert lint(DOCKERFILE.read_text(encoding="utf-8")) == ""


@pytest.mark.parametrize(
    ("right", "wrong", "rule"),
    [
        (":3.11.14-slim-bookworm", "", "DL3006"),
        ("--no-cache-dir ", "", "DL3042"),
        ("--from=packages", "--from=parcels", "DL3022"),
        ("WORKDIR /app", "WORKDIR app", "DL3000"),
    ],
)
def test_the_linter_sees_a_slip(right: str, wrong: str, rule: str) -> None:
    text = DOCKERFILE.read_text(encoding="utf-8")
    assert right in text
    assert rule in lint(text.replace(right, wrong))


def test_the_only_foreign_image_is_a_pinned_python_that_the_project_supports() -> None:
    stages = [each.rest for each in read_instructions() if each.keyword == "FROM"]
    python = _PYTHON_IMAGE.fullmatch(stages[0])
    assert python is not None
    assert all(stage.split()[0] == "base" for stage in stages[1:])

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    least = project["requires-python"].removeprefix(">=").split(".")
    assert tuple(map(int, python.groups())) >= tuple(map(int, least))


def test_the_build_gets_what_it_copies_and_nothing_else() -> None:
    wanted = [Path(source) for source, _ in copies(read_instructions())]
    context = build_context()
    for source in wanted:
        assert any(each.is_relative_to(source) for each in context), f"{source} is not there"
    assert [each for each in context if not any(map(each.is_relative_to, wanted))] == []
    assert [each for each in context if "__pycache__" in each.parts] == []


def test_each_folder_keeps_its_name_in_the_image() -> None:
    assert all(source == target for source, target in copies(last_stage()))


def test_the_image_runs_as_a_numeric_user_that_is_not_root() -> None:
    users = [each.rest for each in last_stage() if each.keyword == "USER"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1])
