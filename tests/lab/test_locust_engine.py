"""`engine: locust`: an experiment whose loads Locust's processes send."""

import signal
from collections import Counter
from pathlib import Path

import pytest

from lab.cli import main
from tests.lab.small_experiment import LabProcess, rows, write_experiment

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

SYSTEM = Path(__file__).parents[2] / "systems" / "rates.yaml"
CONVERTER = f"""\
title: Converter replies
system: {SYSTEM}
load:
  request: GET {{front.url}}/convert?from=USD&amount=100
  requests: 101
  tasks: 4
  engine: ENGINE
outcome: {{json: source, classes: [fresh, stale]}}
clients: {{raw: {{query: {{raw: "true"}}}}}}
faults: {{sick: [{{chaos: rates, failure: 0.3}}]}}
"""
LONG = """\
title: The rates service alone
system: system.yaml
load: {request: "GET {rates.url}/rates/USD", requests: 100000, tasks: 2, engine: locust, workers: 1}
outcome: {json: code, classes: [USD]}
clients: {direct: {}}
faults: {slow: [{chaos: rates, delay: 20ms}]}
"""
GONE_WITHIN_S = 6.0


def run_by(engine: str, folder: Path) -> dict[str, str]:
    """Return the only run of the experiment, sent by *engine*."""
    folder.mkdir()
    (folder / "x.yaml").write_text(CONVERTER.replace("ENGINE", engine))
    lab = LabProcess("run", folder / "x.yaml", "--out", folder, "--seed", "184")
    done = lab.finish(200)
    assert done.returncode == 0, done.stderr
    assert lab.survivors() == []
    [run] = rows(folder / "x" / "latest" / "runs.csv")
    requests = rows(folder / "x" / "latest" / "requests.csv.gz")
    assert Counter(request["outcome"] for request in requests) == Counter(
        {name: int(run[name]) for name in ("fresh", "stale", "error")}
    )
    assert all(float(each["finished_s"]) >= float(each["sent_s"]) for each in requests)
    return run


def test_both_engines_find_the_same_counts_which_are_the_service_s_own(tmp_path: Path) -> None:
    by_locust = run_by("locust\n  workers: 2", tmp_path / "locust")
    by_own = run_by("own", tmp_path / "own")

    for run in (by_locust, by_own):
        assert run["requests"] == run["attempts"] == "101"
        assert run["note"] == ""  # it would say where the front's own counts differ
    # One call a request: the same dice fall, whoever sends.
    assert by_locust["fresh"] == by_own["fresh"]
    assert 50 < int(by_own["fresh"]) < 90


def test_an_interrupted_load_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    experiment = write_experiment(tmp_path, LONG)
    temporary = {"TMPDIR": str(tmp_path / "temporary")}
    lab = LabProcess("run", experiment, "--out", tmp_path / "out", **temporary)
    lab.wait_for("fault.applied", tmp_path / "out" / "small" / "latest", 60)
    assert lab.find("locustfile.py --headless --only-summary --loglevel WARNING --worker")
    lab.process.send_signal(signal.SIGINT)
    done = lab.finish()

    assert lab.survivors_after(GONE_WITHIN_S) == []
    assert list((tmp_path / "temporary").iterdir()) == []
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_without_locust_nothing_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.run.locust_engine.find_spec", lambda _: None)
    experiment = write_experiment(tmp_path, LONG)

    assert main(["run", str(experiment), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith("engine: locust needs Locust, which ")
    assert not (tmp_path / "out").exists()


def test_workers_elsewhere_are_called_for(tmp_path: Path) -> None:
    """The address is one that nobody can bind, so that the wait for them ends at once."""
    remote = LONG.replace("workers: 1", 'remote_workers: 2, bind: "192.0.2.1:5557"')
    lab = LabProcess("run", write_experiment(tmp_path, remote), "--out", tmp_path / "out")
    done = lab.finish()

    assert done.returncode == 3
    assert "waiting for 2 workers; start each with:\n" in done.stderr
    assert "--worker --master-host ADDRESS --master-port 5557\n" in done.stderr
    assert "Locust's master ended with code 1" in done.stderr
    assert lab.survivors() == []
