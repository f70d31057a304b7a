"""The Dockerfile as a list of instructions, and the files that a build gets to see."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from tests.deploy.compose_file import ROOT

DOCKERFILE = ROOT / "Dockerfile"
IGNORE_FILE = ROOT / ".dockerignore"


@dataclass(frozen=True, slots=True)
class Instruction:
    """A keyword and the rest of its line, continued lines joined."""

    keyword: str
    rest: str


def read_instructions() -> list[Instruction]:
    """Return the instructions in their order, comments left out."""
    lines = DOCKERFILE.read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [Instruction(*line.split(maxsplit=1)) for line in joined if line.strip()]


def last_stage() -> list[Instruction]:
    """Return the instructions that make the image itself."""
    instructions = read_instructions()
    starts = [at for at, each in enumerate(instructions) if each.keyword == "FROM"]
    return instructions[starts[-1] :]


def environment() -> dict[str, str]:
    """Return what the stages set with ENV."""
    pairs = (
        word.partition("=")
        for each in read_instructions()
        if each.keyword == "ENV"
        for word in shlex.split(each.rest)
    )
    return {name: value for name, _, value in pairs}


def copies(instructions: list[Instruction]) -> list[tuple[str, str]]:
    """Return (source, target) of each COPY from the project's folder."""
    return [
        (source, target)
        for each in instructions
        if each.keyword == "COPY" and not each.rest.startswith("--from=")
        for source, target in [each.rest.split()]
    ]


def build_context() -> list[Path]:
    """Return the files that .dockerignore lets through, relative to the project's folder."""
    # Anchored patterns and a `**/` in front mean the same to git and to Docker.
    ignored = GitIgnoreSpec.from_lines(IGNORE_FILE.read_text(encoding="utf-8").splitlines())
    return sorted(map(Path, ignored.match_tree_files(ROOT, negate=True)))
