"""Classes of a user's own, found by a reference and told of by the line that went wrong."""

import importlib
import importlib.util
import sys
import sysconfig
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any


class CodeError(ValueError):
    """Code of a user's own cannot be loaded or has failed; the message names the line."""


def load_object(reference: str) -> Any:  # noqa: ANN401 - whatever stands there
    """Return what *reference* names.

    Args:
        reference: `path/to/file.py:Name` or `package.module:Name`.

    Raises:
        CodeError: it cannot be imported, or has no such name.
    """
    where, _, name = reference.rpartition(":")
    module = load_file(Path(where)) if where.endswith(".py") else _import(where)
    try:
        return getattr(module, name)
    except AttributeError:
        raise CodeError(f"{where} has no {name!r}; correct the name") from None


def load_file(path: Path) -> ModuleType:
    """Return the module that the file at *path* is, imported at most once.

    Raises:
        CodeError: it cannot be read or its code fails.
    """
    path = path.resolve()
    name = f"resilience_lab_code:{path}"  # no import statement can clash with it
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CodeError(f"{path.name} is no Python file; name one that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise CodeError(f"cannot be imported: {describe(error)}") from error
    return module


def describe(error: BaseException) -> str:
    """Return on one line where an error of a user's code arose, its kind and what it says."""
    said = " ".join(str(error).split())
    kind = type(error).__name__
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}:{error.lineno}: {kind}: {error.msg}"
    place = _place(error)
    return f"{place}{kind}: {said}" if said else f"{place}{kind}"


def _place(error: BaseException) -> str:
    """Return the last line that is neither Python's nor this file's: `own.py:12: ` or nothing."""
    library = sysconfig.get_path("stdlib")
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((library, "<", __file__))
    ]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise CodeError(f"{name} cannot be imported: {describe(error)}") from error
