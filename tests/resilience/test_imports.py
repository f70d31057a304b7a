"""Which part of the package may know which: the imports lead one way."""

import ast
from collections.abc import Callable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import resilience

PACKAGE = Path(resilience.__file__).parent


def module_at(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def top_part_of(module: str) -> str:
    """Return the folder right below the package that the module is in, or the module itself.

    `_internal` is a drawer: what lies in it are parts of their own.
    """
    first, *rest = module.split(".")
    return ".".join([first, *rest[: 2 if rest[:1] == ["_internal"] else 1]])


def imported(node: ast.AST) -> Iterator[str]:
    """Yield all that is imported when the program runs, names out of modules included."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute here"
        yield from (f"{node.module}.{each.name}" for each in node.names)
    if isinstance(node, ast.Import):
        yield from (each.name for each in node.names)
    for child in ast.iter_child_nodes(node):
        yield from imported(child)


def imports() -> dict[str, set[str]]:
    """Return for each module of the package those that it imports."""
    paths = {module_at(path): path for path in PACKAGE.rglob("*.py")}
    trees = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in paths.items()}
    return {
        module: {
            name if name in paths else name.rpartition(".")[0]
            for name in imported(tree)
            if name.split(".")[0] == PACKAGE.name
        }
        for module, tree in trees.items()
    }


@pytest.mark.parametrize("part_of", [str, top_part_of], ids=["modules", "folders"])
def test_no_two_parts_import_each_other_even_by_way_of_others(
    part_of: Callable[[str], str],
) -> None:
    graph: dict[str, set[str]] = {}
    for module, known in imports().items():
        part = part_of(module)
        graph.setdefault(part, set()).update({part_of(each) for each in known} - {part})
    assert len(graph) > 20
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the cycle
