"""What docs/quickstart.md shows, done."""

import re
import shlex
import signal
from pathlib import Path

import pytest

from lab.cli import main
from lab.spec.reading import read_ad_hoc_fault
from lab.spec.system import read_system
from tests.lab.small_experiment import LabProcess, run_lab
from tests.lab.up.running_lab import runtime_folder, until

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
LAB = ".venv/bin/python -m lab "
FENCES = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^(\S.*?)  *(?:reader|customer)  *(\d+(?: +\d+)*?) +[\d.]+ +[\d.]+ +\d+ +n/a$")
ONE_RUN = ("--repeats", "1")  # the first of those whose medians the page has, with the same dice
WIDE = "200"  # columns in which no name is broken, however long the figures beside it are
NEAR = 5  # replies by which one run may differ from the median of three


def commands() -> list[list[str]]:
    lines = [line for kind, text in FENCES if kind == "console" for line in text.splitlines()]
    return [
        shlex.split(line.removeprefix("$ " + LAB)) for line in lines if line.startswith("$ " + LAB)
    ]


def command(*beginning: str) -> list[str]:
    """Return the one command of the page that begins so."""
    [found] = [each for each in commands() if each[: len(beginning)] == list(beginning)]
    return found


def counts(table: str) -> dict[str, list[int]]:
    """Return each fault's replies by class, as the table counts them."""
    matches = [ROW.match(line.rstrip()) for line in table.splitlines()]
    return {match[1].strip(): [int(n) for n in match[2].split()] for match in matches if match}


@pytest.mark.parametrize("name", ["pages", "shop"])
def test_an_experiment_of_the_page_prints_the_table_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(ROOT)
    [shown] = [
        text
        for kind, text in FENCES
        if kind == "text" and text.startswith(f"A {'file server' if name == 'pages' else name}")
    ]

    done = run_lab(
        *command("run", f"experiments/quickstart/{name}.yaml"),
        *(*ONE_RUN, "--out", tmp_path),
        COLUMNS=WIDE,
    )

    assert done.returncode == 0, done.stderr
    expected, found = counts(shown), counts(done.stdout)
    assert len(expected) == 6
    for (fault, replies), (beginning, published) in zip(
        found.items(), expected.items(), strict=True
    ):
        assert fault.startswith(beginning)
        assert sum(replies) == 40
        assert replies == pytest.approx(published, abs=NEAR)


@pytest.mark.parametrize("path", sorted((ROOT / "experiments/quickstart").glob("*.yaml")))
def test_the_files_that_the_page_shows_are_the_files(path: Path) -> None:
    shown = [text for kind, text in FENCES if kind == "yaml"]

    if path.name != "shop.system.yaml":
        assert path.read_text() in shown
    assert len(path.read_text().splitlines()) <= 21


def test_a_service_of_ones_own_is_measured_and_made_sick_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command("init")) == 0
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    some = ("--only", "fault=none", "--only", "fault=30 % cut short")
    done = run_lab(*command("run", "my-lab/experiment.yaml"), *ONE_RUN, *some)
    assert done.returncode == 0, done.stderr
    assert "All 1 checks of expectations hold." in done.stdout

    with runtime_folder() as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        lab = LabProcess(*command("up"))
        try:
            assert until(lambda: main(["status"]) == 0, within_s=30)
            put_on, clear = [each for each in commands() if each[0] == "fault"]
            assert main(put_on) == 0
            assert "link on load -> app (kind=latency, delayMs=300), for" in capsys.readouterr().out
            assert main(clear) == 0
        finally:
            lab.process.send_signal(signal.SIGINT)
            assert lab.finish().returncode == 130


def test_every_row_of_the_faults_is_one_that_files_may_have(tmp_path: Path) -> None:
    (tmp_path / "system.yaml").write_text("services: {api: {url: 'http://127.0.0.1:8080'}}")
    system = read_system(tmp_path / "system.yaml")
    rows = re.findall(r"^\| `(\w+): (.+?)` \|.*\| (.*) \|$", PAGE, re.MULTILINE)
    rows += re.findall(r"^\| `(\w+): (.+?)` \|.*\|( )\|$", PAGE, re.MULTILINE)

    for key, value, more in rows:
        further = re.findall(r"`(\w+): (.+?)`", more)
        fault = read_ad_hoc_fault({"link": "load -> api", key: value} | dict(further), system)
        assert fault.service == "load -> api"
    assert len(rows) == 14
