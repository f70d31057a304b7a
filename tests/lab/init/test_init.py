"""A first experiment for a service of one's own."""

import io
import sys
from pathlib import Path

import pytest

from lab.cli import main
from lab.spec.reading import read_experiment
from tests.lab.small_experiment import rows, run_lab

RUN = "python -m http.server {port} --bind 127.0.0.1"


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_options_become_two_files_that_are_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new folder"
    assert main(["init", "--run", RUN, "--path", "/a?b=c&d='e'", "--out", str(out)]) == 0
    assert f"python -m lab run '{out}/experiment.yaml'\n" in capsys.readouterr().out

    experiment = read_experiment(out / "experiment.yaml")

    assert files_in(out) == ["experiment.yaml", "system.yaml"]
    assert experiment.system.service("app").run == RUN
    assert experiment.load.mix[0].url == "{app.url}/a?b=c&d='e'"
    assert len(experiment.conditions) == 6
    assert main(["validate", str(out / "experiment.yaml")]) == 0


@pytest.mark.parametrize(
    ("answers", "made"),
    [
        (f"{RUN}\n/page\nDIR\n", (RUN, None, "/page")),
        (f"  {RUN} \n\nDIR\n", (RUN, None, "/")),
        ("http://127.0.0.1:8080/\n/page\nDIR", (None, "http://127.0.0.1:8080", "/page")),
        (f"env A=http://x {RUN}\n/\nDIR\n", (f"env A=http://x {RUN}", None, "/")),
    ],
)
def test_three_questions_do_as_well(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answers: str,
    made: tuple[str | None, str | None, str],
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(answers.replace("DIR", str(tmp_path / "made"))))
    assert main(["init"]) == 0

    experiment = read_experiment(tmp_path / "made" / "experiment.yaml")

    service = experiment.system.service("app")
    path = experiment.load.mix[0].url.removeprefix("{app.url}")
    assert (service.run, service.url, path) == made


@pytest.mark.parametrize("name", ["system.yaml", "experiment.yaml"])
def test_nothing_is_ever_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / name).write_text("mine")

    assert main(["init", "--run", RUN, "--path", "/", "--out", str(tmp_path)]) == 2
    assert "is there already; name another folder with --out" in capsys.readouterr().err
    assert (tmp_path / name).read_text() == "mine"
    assert files_in(tmp_path) == [name]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--run", "python -m http.server 80", "--path", "/"], "write {port} where the port goes"),
        (["--run", RUN + " {prot}", "--path", "/"], 'unknown placeholder "{prot}"; did you mean'),
        (["--run", RUN, "--path", "page"], "the path must start with /"),
        (["--run", RUN, "--path", "a b"], 'got "a b"; write e.g. /a%20b'),
        (["--run", RUN, "--path", "/a b"], "request must be a method and an address"),
        (["--run", RUN, "--path", "/{b}"], 'request has the unknown placeholder "{b}"'),
        (["--url", "127.0.0.1:8080", "--path", "/"], "url must be a URL with http"),
        (["--url", "https://127.0.0.1", "--path", "/"], "for which a proxy has no certificate"),
        (["--path", "/"], "no answer came; say it with --run or --url"),
    ],
)
def test_what_will_not_do_is_one_line_and_writes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    says: str,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())

    assert main(["init", *options, "--out", str(tmp_path / "made")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert says in line
    assert not (tmp_path / "made").exists()


@pytest.mark.integration
def test_three_in_ten_of_its_requests_are_reset_at_a_server_that_keeps_connections(
    tmp_path: Path,
) -> None:
    run = f"{sys.executable} -m rates_api --port {{port}}"
    assert main(["init", "--run", run, "--path", "/rates/USD", "--out", str(tmp_path)]) == 0
    row = "30 % of connections reset"
    done = run_lab(
        "run",
        tmp_path / "experiment.yaml",
        *("--only", f"fault={row}", "--repeats", "5", "--seed", "1", "--out", tmp_path / "out"),
    )

    [cell] = rows(tmp_path / "out" / "experiment" / "latest" / "summary.csv")
    runs = rows(tmp_path / "out" / "experiment" / "latest" / "runs.csv")
    assert (done.returncode, cell["fault"], cell["requests"]) == (0, row, "40")
    assert sum(int(run["error"]) for run in runs) / 200 == pytest.approx(0.3, abs=0.1)


def test_for_another_machine_the_command_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = ["--url", "http://api.example.com", "--path", "/"]

    assert main(["init", *url, "--out", str(tmp_path / "made")]) == 0
    assert "experiment.yaml --allow-host api.example.com\n" in capsys.readouterr().out
