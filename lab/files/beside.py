"""Files that a file names: looked for in its own folder."""

from pathlib import Path

from lab.files.errors import Wrong, show
from lab.files.scalars import name
from lab.files.tree import Node


def beside(path: Path, node: Node) -> Path:
    """Return the file that *node* names, relative to the folder of *path*."""
    named = path.parent / name(node)
    try:
        if named.is_file():
            return named
        reason = "which is no file"
    except OSError as error:  # a name too long, a folder that may not be entered
        reason = f"which cannot be read ({error.strerror})"
    raise Wrong(f"names {show(name(node))}, {reason}", advice=f"looked for {show(str(named))}")
