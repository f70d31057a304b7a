"""Where running labs are found: sockets that only their user can reach, stale ones removed."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.errors import UsageError
from lab.up.sockets import claimed, find, runtime_folder
from tests.lab.up.running_lab import runtime_folder as short_folder


@pytest.fixture(autouse=True)
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with short_folder() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
        yield folder


def test_the_socket_and_its_folder_are_the_users_alone() -> None:
    with claimed("rates"):
        path = find(None)
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not path.exists()


def test_without_a_runtime_folder_of_the_system_there_is_one_among_the_temporary_files(
    monkeypatch: pytest.MonkeyPatch, base: Path
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(base))

    assert runtime_folder().parent == base
    assert runtime_folder().stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_enter_is_refused(base: Path) -> None:
    (base / "resilience-lab").mkdir()
    (base / "resilience-lab").chmod(0o755)

    with pytest.raises(UsageError, match="no folder that you alone can enter"):
        runtime_folder()


def test_a_link_in_the_folders_place_is_refused(base: Path) -> None:
    (base / "elsewhere").mkdir(mode=0o700)
    (base / "resilience-lab").symlink_to(base / "elsewhere")

    with pytest.raises(UsageError, match="no folder that you alone can enter"):
        runtime_folder()


def test_the_socket_of_a_dead_lab_is_removed_and_its_name_free() -> None:
    stale = runtime_folder() / "rates.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(stale))
        dead.listen()

    with pytest.raises(UsageError, match="no system is up; start one"):
        find(None)
    assert not stale.exists()
    with claimed("rates"):
        assert find("rates") == stale


def test_a_name_is_taken_once() -> None:
    with claimed("rates"), pytest.raises(UsageError, match="is up already"), claimed("rates"):
        pass


@pytest.mark.parametrize(
    ("asked", "found"),
    [("rates", "rates"), ("systems/rates.yaml", "rates"), ("v1.2", "v1.2")],
)
def test_a_system_is_found_by_its_name_or_file(asked: str, found: str) -> None:
    with claimed("rates"), claimed("v1.2"):
        assert find(asked).name == f"{found}.sock"


def test_with_two_up_one_must_be_named() -> None:
    with (
        claimed("rates"),
        claimed("bakeoff"),
        pytest.raises(UsageError, match="2 systems are up: bakeoff, rates; name one"),
    ):
        find(None)


@pytest.mark.parametrize("name", ["", "..", "a/b", "x" * 41, "-f", "a b"])
def test_a_name_that_is_no_file_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="choose one with --name"), claimed(name):
        pass


def test_a_path_too_long_for_a_socket_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, base: Path
) -> None:
    deep = base / ("x" * 100)
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))

    with pytest.raises(UsageError, match="short path"), claimed("rates"):
        pass
