"""The library is a distribution of its own, and leaves the clone that it is built in clean."""

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from pathspec import GitIgnoreSpec

from tests.linked_packages import link_packages

ROOT = Path(__file__).parents[2]
NEEDS = {"aiohttp", "httpx", "httpx-aiohttp", "pybreaker", "stamina"}

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    clone = tmp_path_factory.mktemp("clones") / "clone"
    leave_out = shutil.ignore_patterns(".*", "__pycache__", "build", "*.egg-info", "results")
    shutil.copytree(ROOT, clone, ignore=leave_out)
    return clone


@pytest.fixture(scope="module")
def wheel(clone: Path) -> Path:
    return build(clone / "resilience")


def build(project: Path) -> Path:
    """Return the wheel that pip makes of a project, with the setuptools of the requirements."""
    out = project.parent.parent / f"wheel of {project.name}"
    pip = [sys.executable, "-m", "pip", "--isolated", "wheel", "--quiet"]
    flags = ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(out)]
    subprocess.run([*pip, *flags, str(project)], check=True, timeout=120)
    return next(out.glob("*.whl"))


def files_in(wheel: Path) -> set[str]:
    names = zipfile.ZipFile(wheel).namelist()
    return {name for name in names if ".dist-info/" not in name}


def required_by(wheel: Path, *, extra: str = "") -> list[Requirement]:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/METADATA"))
        required = Metadata.from_email(archive.read(name)).requires_dist or []
    return [each for each in required if applies(each, extra)]


def applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def installed(required: Iterable[Requirement], known: set[str]) -> Iterator[Distribution]:
    """Yield what is required, and in turn what that requires."""
    for each in required:
        if each.name not in known and applies(each, extra=""):
            known.add(each.name)
            package = distribution(each.name)
            yield package
            yield from installed(map(Requirement, package.requires or ()), known)


def test_the_wheel_holds_the_library_with_its_types_and_nothing_else(wheel: Path) -> None:
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "resilience").rglob("*.py")}
    assert {name for name in modules if "/build/" not in name} | {"resilience/py.typed"} == (
        files_in(wheel)
    )


def test_it_requires_five_packages_each_from_some_release_on(wheel: Path) -> None:
    required = required_by(wheel)
    assert {each.name for each in required} == NEEDS
    assert {bound.operator for each in required for bound in each.specifier} == {">="}


@pytest.mark.parametrize(
    ("extra", "adds"), [("json", "pydantic"), ("otel", "opentelemetry-sdk"), ("redis", "redis")]
)
def test_each_extra_adds_one_package(wheel: Path, extra: str, adds: str) -> None:
    assert {each.name for each in required_by(wheel, extra=extra)} - NEEDS == {adds}


def test_it_runs_where_nothing_but_what_it_requires_is_installed(
    wheel: Path, tmp_path: Path
) -> None:
    link_packages(installed(required_by(wheel), set()), tmp_path)
    zipfile.ZipFile(wheel).extractall(tmp_path)
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import resilience, resilience.telemetry, resilience.testing
print(resilience.__file__)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.stderr, done.stdout.strip()) == ("", str(tmp_path / "resilience/__init__.py"))


def test_the_labs_own_wheel_has_the_types_and_no_leavings_of_this_one(
    wheel: Path, clone: Path
) -> None:
    lab = files_in(build(clone))
    assert {name for name in lab if name.startswith("resilience/")} == files_in(wheel)


@pytest.mark.usefixtures("wheel")
def test_git_ignores_whatever_a_build_leaves_in_the_clone(clone: Path) -> None:
    ignored = GitIgnoreSpec.from_lines((ROOT / ".gitignore").read_text().splitlines())
    now = {str(path.relative_to(clone)) for path in clone.rglob("*") if path.is_file()}
    left = {name for name in now if not (ROOT / name).exists()}
    assert left
    assert set(ignored.match_files(left)) == left
