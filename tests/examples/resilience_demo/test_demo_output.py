"""How the demo ends when nobody reads what it says, or somebody interrupts it."""

import io
import signal
import subprocess
import sys

from examples.resilience_demo.output import Output

PYTHON = f"{sys.executable} -W error"


def shell(command: str) -> "subprocess.CompletedProcess[str]":
    """Run a command line; it must end long before the demo would."""
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=90
    )


def test_a_reader_who_has_seen_enough_ends_it_without_a_word() -> None:
    ended = shell(f"{PYTHON} -m examples.resilience_demo | head -n 1; exit ${{PIPESTATUS[0]}}")
    assert (ended.returncode, ended.stderr) == (141, "")
    assert ended.stdout.count("\n") == 1


def test_a_full_disk_is_one_line() -> None:
    ended = shell(f"{PYTHON} -m examples.resilience_demo >/dev/full")
    assert ended.returncode == 1
    assert ended.stderr == (
        "resilience_demo: the output cannot be written (No space left on device); "
        "send it somewhere else\n"
    )


def test_a_full_disk_with_nobody_to_tell_is_an_exit_code() -> None:
    assert shell(f"{PYTHON} -m examples.resilience_demo >/dev/full 2>&1").returncode == 1


def test_no_standard_output_is_one_line() -> None:
    ended = shell(f"{PYTHON} -m examples.resilience_demo >&-")
    assert ended.returncode == 1
    assert ended.stderr == "there is no standard output; leave it open, or send it to a file\n"


def test_ctrl_c_ends_it_without_a_word() -> None:
    demo = subprocess.Popen(
        [sys.executable, "-m", "examples.resilience_demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert demo.stdout is not None
    demo.stdout.readline()
    demo.send_signal(signal.SIGINT)
    _, errors = demo.communicate(timeout=60)
    assert (demo.returncode, errors) == (130, "")


class FullAfterALine(io.StringIO):
    """A stream that takes one line."""

    def write(self, text: str) -> int:
        """Write unless something has been written."""
        if self.getvalue():
            raise OSError(28, "No space left on device")
        return super().write(text)


def test_the_first_line_that_cannot_be_written_is_the_last_one_tried() -> None:
    stream, failures = FullAfterALine(), list[OSError | None]()
    output = Output(stream)
    output.on_failure = lambda: failures.append(output.failure)
    for line in ("a", "b", "c"):
        output.write(line)
    assert stream.getvalue() == "a\n"
    assert failures == [output.failure]
    assert isinstance(output.failure, OSError)


def test_lines_for_nobody_are_dropped() -> None:
    output = Output(None)
    output.write("a")
    assert output.failure is None
