"""What an interpreter that knows `await` makes of what a reader pastes into it."""

import ast
import asyncio
import code
import os
import sys
from collections.abc import Iterable
from inspect import isawaitable
from pathlib import Path
from types import CodeType, FunctionType

_ROOT = Path(__file__).parents[2]
# Neither prompts, nor the values of bare expressions: pages show what is printed.
_QUIET = "import sys; sys.ps1 = sys.ps2 = ''; sys.displayhook = lambda value: None\n"
_END = "\x1e"
_LIMIT_S = 50.0


async def pasted(codes: Iterable[str], folder: Path) -> list[str]:
    """Return what `AwaitingConsole` prints, errors included, for each of *codes* in turn.

    It runs in a process of its own and takes a line at a time, as from a terminal: a block ends
    with an empty line and nowhere else.
    """
    console = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__),
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(_ROOT)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    mark = f"print({_END!r}, end='', flush=True)\n"
    typed = [_QUIET + mark, *(f"{code}\n{mark}" for code in codes)]
    try:
        async with asyncio.timeout(_LIMIT_S):
            printed, _ = await console.communicate("".join(typed).encode())
    finally:
        if console.returncode is None:
            console.kill()
            await console.wait()
    _greeting, *outputs, _farewell = printed.decode().split(_END)
    return outputs


class AwaitingConsole(code.InteractiveConsole):
    """The interpreter of `python -m asyncio` up to 3.12, for every version.

    That of 3.13.0 reads a terminal by other rules (it takes a paste as a whole) and a pipe by
    none: each line is a program, so no statement can have two.
    """

    def __init__(self, runner: asyncio.Runner) -> None:
        super().__init__({"__name__": "__main__", "asyncio": asyncio}, filename="<stdin>")
        self.compile.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self._runner = runner

    def runcode(self, code: CodeType) -> None:
        """Run one statement in the event loop, whether it awaits anything or not."""
        try:
            self._runner.run(self._run(code))
        except SystemExit:
            raise
        except BaseException:  # noqa: BLE001 - whatever ends a statement does not end the console
            self.showtraceback()

    async def _run(self, code: CodeType) -> None:
        value = FunctionType(code, self.locals)()
        if isawaitable(value):
            await value


if __name__ == "__main__":
    with asyncio.Runner() as its_runner:
        AwaitingConsole(its_runner).interact()
