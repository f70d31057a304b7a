"""Ctrl-C."""

import os
import signal

_INTERRUPTED = 130


def end_at_once_on_interrupt() -> None:
    """Have Ctrl-C end the process with code 130 and no traceback: there is nothing to undo.

    Where it is ignored, as in the background of a shell's script, it stays ignored.
    """
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
