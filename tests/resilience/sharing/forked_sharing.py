"""Shares a circuit in forked processes: `python -m tests.resilience.sharing.forked_sharing URL`."""

import asyncio
import sys
from contextlib import aclosing

from tests.resilience.forking import in_child
from tests.resilience.sharing.processes import Process, eventually, exchanged


async def share(process: Process, *, fails: bool) -> str:
    """Open the circuit, or hear that it is open; tell who the process is."""
    async with process.shared.sharing():
        if fails:
            process.fail()
        await eventually(lambda: process.state == "open")
        await exchanged(process)
        return f"shared by {process.shared._circuits['rates'].process}"


async def fork_while_sharing(process: Process) -> None:
    """Fork in the middle of a block; the parent's connection must not be the child's."""
    async with aclosing(process.redis), process.shared.sharing():
        await exchanged(process)
        in_child(lambda: asyncio.run(share(process, fails=True)))
        await exchanged(process)
        sys.stdout.write(f"parent {process.state}, {'alone' if process.alone else 'shared'}\n")


if __name__ == "__main__":
    made_before = Process(sys.argv[1])
    in_child(lambda: asyncio.run(share(made_before, fails=True)))
    in_child(lambda: asyncio.run(share(made_before, fails=False)))
    asyncio.run(fork_while_sharing(Process(sys.argv[2])))
