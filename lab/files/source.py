"""The text of a file, or why it cannot be had."""

from pathlib import Path

from lab.files.errors import START, FileError, Place, Problem

MAX_BYTES = 1_000_000  # a hand-written file has a few thousand


def read_text(path: Path) -> str:
    """Return the text of the UTF-8 file at *path*, without a byte order mark.

    Raises:
        FileError: missing, no file, unreadable, over `MAX_BYTES`, or not UTF-8.
    """
    content = _read_bytes(path)
    if len(content) > MAX_BYTES:
        raise _refusal(path, f"the file has over {MAX_BYTES} bytes; keep it to what a person wrote")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = before.count(b"\n") + 1
        column = len(before) - (before.rfind(b"\n") + 1) + 1
        message = f"byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise _refusal(path, message, Place(line=line, column=column)) from None


def _read_bytes(path: Path) -> bytes:
    try:
        if not path.exists():
            raise _refusal(path, "there is no such file; check the path")
        if not path.is_file():  # a pipe or a device would block or never end
            raise _refusal(path, "this is not a file; name a YAML file")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise _refusal(path, f"cannot be read ({reason}); check its permissions") from None
    except ValueError as error:  # a NUL in the path
        raise _refusal(path, f"is no path ({error}); check it") from None


def _refusal(path: Path, message: str, place: Place = START) -> FileError:
    return FileError([Problem(path=path, place=place, message=message)])
