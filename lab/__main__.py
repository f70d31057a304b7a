"""`python -m lab`."""

import os
import signal

if __name__ == "__main__":
    # Until there is something to undo, an interrupt needs no traceback and no clean-up.
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: os._exit(130))
    from console import run
    from lab.cli import main

    run(main, program="lab")
