"""The runnable parts of a Markdown page."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FILE = re.compile(r"# (\w+\.py)\n")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A ```python fence, and the text fence right below it if there is one."""

    line: int
    code: str
    output: str | None

    @property
    def file(self) -> str | None:
        """Return the name in a first line like `# program.py`; without one it is for a console."""
        named = _FILE.match(self.code)
        return named[1] if named else None


def snippets(page: Path) -> Iterator[Snippet]:
    """Yield the page's Python snippets in their order."""
    text = page.read_text(encoding="utf-8")
    fences = list(_FENCE.finditer(text))
    for fence, below in zip(fences, [*fences[1:], None], strict=True):
        if fence[1] != "python":
            continue
        is_output = below and below[1] == "text" and not text[fence.end() : below.start()].strip()
        yield Snippet(
            line=text.count("\n", 0, fence.start(2)) + 1,
            code=fence[2],
            output=below[2] if below and is_output else None,
        )
