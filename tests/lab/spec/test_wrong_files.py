from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from ruamel.yaml import YAML

from lab.spec.problems import FileError
from lab.spec.reading import read_experiment
from tests.lab.spec.folder import EXPERIMENT, REFERENCE, SYSTEM, write_folder

TABLES = Path(__file__).parent / "wrong"
RIGHT = {"experiment": EXPERIMENT, "system": SYSTEM, "reference": REFERENCE}


class Wrong(NamedTuple):
    """One file made wrong by one replacement (of everything, if `replace` is None)."""

    file: str
    case: str
    replace: str | None
    by: str
    says: str

    def text(self) -> str:
        """Return the file as it is once it is wrong."""
        right = RIGHT[self.file]
        if self.replace is None:
            return self.by
        assert right.count(self.replace) == 1
        return right.replace(self.replace, self.by)


def _cases() -> Iterator[Wrong]:
    for file in RIGHT:
        for row in YAML(typ="safe", pure=True).load(TABLES / f"{file}.yaml"):
            yield Wrong(file=file, **row)


@pytest.mark.parametrize("wrong", list(_cases()), ids=lambda wrong: f"{wrong.file}: {wrong.case}")
def test_a_wrong_file_is_one_line_with_its_place_the_value_and_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: Wrong
) -> None:
    write_folder(tmp_path, **{wrong.file: wrong.text()})
    monkeypatch.chdir(tmp_path)

    with pytest.raises(FileError) as raised:
        read_experiment(Path("x.yaml"))

    assert str(raised.value) == wrong.says


def test_all_problems_of_a_file_are_said_at_once_in_its_order(tmp_path: Path) -> None:
    text = EXPERIMENT.replace("tasks: 4", "tasks: 0").replace("0.3", "3").replace("500ms", "500")
    path = write_folder(tmp_path, experiment=text)

    with pytest.raises(FileError) as raised:
        read_experiment(path)

    assert [problem.place.line for problem in raised.value.problems] == [6, 15, 16]
    assert len(str(raised.value).splitlines()) == 3


def test_a_file_full_of_problems_says_the_first_twenty(tmp_path: Path) -> None:
    text = EXPERIMENT + "".join(f"wrong{number}: 1\n" for number in range(50))
    path = write_folder(tmp_path, experiment=text)

    with pytest.raises(FileError) as raised:
        read_experiment(path)

    assert len(raised.value.problems) == 20
