"""What can go wrong in a run, by the exit code that it ends with.

LabError
├── UsageError      2: the command or a file is wrong; nothing was started
└── NoValidData     3: the system would not start, or it was not well when it had to be
"""


class LabError(Exception):
    """Ends the command with one line on standard error and `exit_code`."""

    exit_code = 3


class UsageError(LabError):
    """The command or a file is wrong; the message names the place and the next step."""

    exit_code = 2


class NoValidData(LabError):  # noqa: N818 - the field's word for it, as in the exit codes' table
    """What was measured, if anything, would not mean what the table says."""
