"""A process that ends when its standard input does."""

import asyncio


async def end_child(process: asyncio.subprocess.Process, *, within_s: float) -> None:
    """Close the input of *process* and wait for its end; kill it if that takes too long.

    Args:
        process: started with a pipe as its standard input; it may have ended.
        within_s: how long it may take, in seconds. A cancelled wait kills it at once.
    """
    assert process.stdin is not None  # noqa: S101 - it was asked for
    process.stdin.close()
    try:
        async with asyncio.timeout(within_s):
            await process.wait()
    except TimeoutError:
        pass  # it hangs; killed below
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
