"""Files that no editor would write: too big, too deep, not text, or no file at all."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.spec.problems import FileError, Problem
from lab.spec.reading import read_experiment
from lab.spec.system import read_system
from tests.lab.spec.folder import EXPERIMENT, SYSTEM, write_folder


def _said(path: Path) -> str:
    with pytest.raises(FileError) as raised:
        read_experiment(path)
    return str(raised.value).removeprefix(f"{path}:")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "1:1: the file is empty; write at least one key"),
        (b"# only a comment\n", "1:1: the file is empty; write at least one key"),
        (b"---\n", "2:1: must be a mapping, got nothing; write e.g. title: …"),
        (b"7", '1:1: must be a mapping, got "7"; write e.g. title: …'),
        (
            b"'a' x",
            (
                "1:5: something stands after the end of the one value in \"'a' x\"; "
                "keep one mapping a file"
            ),
        ),
        (b"title: \xff", "1:8: byte 0xff is not UTF-8; save the file as UTF-8"),
        (b"a: b\nc: d\xc3", "2:5: byte 0xc3 is not UTF-8; save the file as UTF-8"),
        ("title: x".encode("utf-16"), "1:1: byte 0xff is not UTF-8; save the file as UTF-8"),
        (
            b"[" * 100_000,
            "1:21: nested over 20 levels deep; no key here needs more than a handful",
        ),
        (b"- 1\n" * 30_000, "20000:3: over 20000 values; split the file"),
        (
            b"title: x\n" * 1_200_000,
            "1:1: the file has over 1000000 bytes; keep it to what a person wrote",
        ),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_odd_content_is_one_line(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)

    assert _said(path) == says


def test_a_missing_file_a_folder_and_a_pipe_are_told_apart(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert "there is no such file" in _said(tmp_path / "absent.yaml")
    assert "this is not a file" in _said(tmp_path)
    assert "this is not a file" in _said(tmp_path / "pipe")
    assert "cannot be read (File name too long)" in _said(tmp_path / ("x" * 300))
    assert len(_said(tmp_path / "a\nb\0").splitlines()) == 1


def test_a_byte_order_mark_and_windows_line_ends_are_no_problem(tmp_path: Path) -> None:
    path = write_folder(tmp_path)
    path.write_bytes(b"\xef\xbb\xbf" + EXPERIMENT.replace("\n", "\r\n").encode())

    assert read_experiment(path).title == "Converter under faults"


PIECES = st.sampled_from(
    [
        *EXPERIMENT.split(),
        "\n",
        "  ",
        "- ",
        "? ",
        "&a ",
        "*a",
        "!!x ",
        '"\\',
        "|\n",
        "\t",
        "[",
        "\0",
    ]
)


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=40).map("".join).map(str.encode))
)
def test_whatever_bytes_a_file_holds_only_a_file_error_comes_out(content: bytes) -> None:
    _refused(content)


@settings(max_examples=100, deadline=None)
@given(
    text=st.sampled_from([EXPERIMENT, SYSTEM]),
    cut=st.tuples(st.integers(0, 700), st.integers(0, 30)),
    put=st.one_of(st.text(max_size=10), PIECES),
)
def test_a_right_file_with_any_piece_exchanged_is_read_or_refused_in_single_lines(
    text: str, cut: tuple[int, int], put: str
) -> None:
    start, length = cut
    _refused((text[:start] + put + text[start + length :]).encode("utf-8", "surrogatepass"))


def _refused(content: bytes) -> None:
    """Read *content* as both kinds of file; anything but a `FileError` of whole lines fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_folder(Path(folder))
        path.write_bytes(content)
        for read in (read_experiment, read_system):
            said = _problems_of(path, read)
            assert len("\n".join(map(str, said)).splitlines()) == len(said)


def _problems_of(path: Path, read: Callable[[Path], object]) -> tuple[Problem, ...]:
    try:
        read(path)
    except FileError as error:
        return error.problems
    return ()
