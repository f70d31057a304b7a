"""A process that shares a circuit and does what it is told, line by line, on its standard input.

`python -m tests.resilience.sharing.sharing_process redis://127.0.0.1:6379/0`; it answers each
line with the state that the circuit is in afterwards.
"""

import asyncio
import sys
from contextlib import aclosing

from tests.resilience.sharing.processes import Process, exchanged


async def obey(url: str) -> None:
    """Share the circuit until the input ends."""
    process = Process(url)
    async with aclosing(process.redis), process.shared.sharing():
        while line := await asyncio.to_thread(sys.stdin.readline):
            await _do(process, line.strip())
            sys.stdout.write(f"{process.state}\n")
            sys.stdout.flush()


async def _do(process: Process, command: str) -> None:
    match command:
        case "fail":
            process.fail()
        case "trial":
            process.close_by_trial()
        case "isolate":
            process.breaker.isolate()
        case "reset":
            process.breaker.reset()
        case "exchange":
            await exchanged(process)


if __name__ == "__main__":
    asyncio.run(obey(sys.argv[1]))
