"""Holds as many MiB as its argument says, and keeps touching them: run as a process of its own."""

import mmap
import sys
import time
from contextlib import suppress
from pathlib import Path

TOUCH_EVERY_S = 1.0


def hold(mib: int) -> None:
    """Hold *mib* MiB for ever, every page of it in memory as far as the kernel allows."""
    with suppress(OSError):  # if memory runs out after all, this is the process to end
        Path("/proc/self/oom_score_adj").write_text("1000")
    block = bytearray(mib << 20)
    pages = len(block[:: mmap.PAGESIZE])
    while True:
        block[:: mmap.PAGESIZE] = b"x" * pages
        time.sleep(TOUCH_EVERY_S)


if __name__ == "__main__":
    hold(int(sys.argv[1]))
