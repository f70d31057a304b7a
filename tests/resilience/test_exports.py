"""The exported names are the only face: what a reader finds, and all that others may import."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import resilience

ROOT = Path(__file__).parents[2]
FACES = ("resilience", "resilience.shared_state", "resilience.telemetry", "resilience.testing")


def face(name: str) -> ModuleType:
    return importlib.import_module(name)


def defined_in(module: ModuleType) -> set[str]:
    """Return the classes and functions of a module that are its own and not marked private."""
    own = {
        name: each
        for name, each in vars(module).items()
        if getattr(each, "__module__", "") == module.__name__ and not name.startswith("_")
    }
    return {name for name, each in own.items() if inspect.isclass(each) or inspect.isfunction(each)}


def visible_modules() -> Iterator[ModuleType]:
    """Yield the modules whose path has no leading underscore, the faces left out."""
    for path in sorted((ROOT / "resilience").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if not any(part.startswith("_") for part in parts) and ".".join(parts) not in FACES:
            yield importlib.import_module(".".join(parts))


def test_all_is_sorted_and_true() -> None:
    exported = {name for name in vars(resilience) if name[0].isupper()}
    assert resilience.__all__ == sorted(exported)


@pytest.mark.parametrize("name", FACES[1:])
def test_what_needs_an_extra_or_a_test_exports_all_that_it_defines(name: str) -> None:
    assert face(name).__all__ == sorted(defined_in(face(name)))


@pytest.mark.parametrize(
    ("module", "name"), [(each, name) for each in FACES for name in face(each).__all__]
)
def test_an_exported_name_and_its_public_members_have_docstrings_of_their_own(
    module: str, name: str
) -> None:
    exported = getattr(face(module), name)
    assert inspect.isclass(exported) or inspect.isfunction(exported)
    assert not (exported.__doc__ or f"{name}(").startswith(f"{name}(")  # as a dataclass makes it
    for member, each in vars(exported).items():
        described = inspect.isroutine(each) or isinstance(each, property | classmethod)
        if described and not member.startswith("_"):
            assert each.__doc__, member


def test_the_table_of_contents_is_what_defines_exported_names_and_the_layers() -> None:
    contents = {module.__name__: defined_in(module) for module in visible_modules()}
    assert len(contents) > 15
    exported = {name for name in resilience.__all__ if hasattr(getattr(resilience, name), "mro")}
    for module, names in contents.items():
        assert names & exported or any(name.endswith("Layer") for name in names), module
    assert exported - set().union(*contents.values()) == set()


def sources_outside() -> Iterator[tuple[Path, str]]:
    """Yield the Python of the repository beside the library and the tests, pages included."""
    for path in [*ROOT.glob("*/**/*.py"), *ROOT.glob("*.md"), *ROOT.glob("*/**/*.md")]:
        first = path.relative_to(ROOT).parts[0]
        if first.startswith(".") or first in {"tests", "results", "build"}:
            continue
        if path.suffix == ".md":
            snippets = re.findall(
                r"^```python\n(.*?)^```", path.read_text("utf-8"), re.MULTILINE | re.DOTALL
            )
            yield from ((path, snippet) for snippet in snippets)
        elif first != "resilience":
            yield path, path.read_text("utf-8")


def imported_of_the_library(source: str) -> Iterator[tuple[str, str | None]]:
    """Yield each module of the library that is imported, and the name that is taken from it."""
    for node in ast.walk(compile(source, "", "exec", ast.PyCF_ONLY_AST | _AWAIT)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "resilience":
            yield from ((node.module or "", each.name) for each in node.names)
        elif isinstance(node, ast.Import):
            names = [each.name for each in node.names]
            yield from ((name, None) for name in names if name.split(".")[0] == "resilience")


_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as an interpreter takes the pages' snippets


def test_nothing_outside_imports_what_is_internal() -> None:
    imported = [
        (path, module, name)
        for path, source in sources_outside()
        for module, name in imported_of_the_library(source)
    ]
    assert len(imported) > 30
    for path, module, name in imported:
        assert module in FACES, path
        assert name is None or name in face(module).__all__, (path, name)


def test_it_imports_nothing_that_only_services_and_reports_need() -> None:
    program = "import sys, resilience; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    imported = set(done.stdout.split())

    assert "resilience.client" in imported
    assert imported & {"fastapi", "starlette", "pandas", "numpy", "locust", "pydantic"} == set()


def test_it_leaves_what_tests_need_to_the_tests() -> None:
    program = "import sys, resilience; sys.exit('resilience.testing' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], timeout=30, check=True)
