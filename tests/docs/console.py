"""What an interpreter that knows `await` makes of what a reader pastes into it."""

import asyncio
import os
import sys
from collections.abc import Iterable
from pathlib import Path

_ROOT = Path(__file__).parents[2]
# Neither prompts, nor the values of bare expressions: pages show what is printed.
_QUIET = "import sys; sys.ps1 = sys.ps2 = ''; sys.displayhook = lambda value: None\n"
_END = "\x1e"
_LIMIT_S = 50.0


async def pasted(codes: Iterable[str], folder: Path) -> list[str]:
    """Return what `python -m asyncio` prints, errors included, for each of *codes* in turn.

    Where it reads from a pipe it takes a line at a time, as from a terminal: a block ends with an
    empty line and nowhere else.
    """
    console = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "asyncio"),
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
