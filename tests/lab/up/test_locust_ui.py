"""`lab up --locust`: Locust's web UI comes and goes with the system."""

import json
import re
import signal
import socket
from pathlib import Path

import httpx
import pytest

from lab.cli import main
from lab.spec.system import read_system
from lab.up import locust_ui
from tests.lab.small_experiment import SYSTEM, write_experiment
from tests.lab.up.running_lab import RunningLab, get, lab_up, until

pytestmark = pytest.mark.integration

IN_THE_SHELL = {"LOCUST_WEB_HOST": "0.0.0.0", "LOCUST_HEADLESS": "true"}  # noqa: S104 - not heeded
GONE_WITHIN_S = 6.0
OWN_LOCUST_FILE = """\
from locust import FastHttpUser, task

from lab.up.locust_pages.web_ui import add_chaos_page


class Caller(FastHttpUser):
    @task
    def ask(self):
        self.client.get("/rates/USD")


add_chaos_page()
"""


def write_locust_file(system: Path) -> None:
    """Write the Locust file of a system file."""
    system.with_suffix("").mkdir()
    (system.with_suffix("") / "locustfile.py").write_text(OWN_LOCUST_FILE)


def journal(lab: RunningLab) -> list[dict[str, str]]:
    return [json.loads(line) for line in (lab.out / "events.jsonl").read_text().splitlines()]


def drawn_as_fresh(page: httpx.Client, url: str) -> int:
    return sum(int(second["fresh"]) for second in page.get(f"{url}chaos/state").json()["seconds"])


def processes_in(folder: Path) -> list[str]:
    """Return the processes whose current folder is *folder*."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and (entry / "cwd").readlink() == folder:
                found.append(entry.name)
        except OSError:  # it ended meanwhile, or is not ours
            continue
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_its_page_works_the_system_s_faults_and_ends_with_the_lab(
    tmp_path: Path, runtime: Path, number: signal.Signals
) -> None:
    write_locust_file(tmp_path / "small.yaml")
    flags = ["--locust"]
    with lab_up(tmp_path, runtime, flags=flags, until_event="locust.up", **IN_THE_SHELL) as lab:
        url = next(event["url"] for event in journal(lab) if event["event"] == "locust.up")
        home = (lab.out / "locust").resolve()
        assert len(processes_in(home)) == 1
        token = re.search('name="chaos-token" content="([^"]+)"', get(f"{url}chaos/").text)
        assert token is not None
        with httpx.Client(headers={"X-Chaos-Page": token[1]}, timeout=10) as page:
            page.post(f"{url}swarm", data={"user_count": 1, "spawn_rate": 1}).raise_for_status()
            assert until(lambda: drawn_as_fresh(page, url) > 0)  # though no outcome was given
            page.post(f"{url}stop").raise_for_status()
            sick = page.put(f"{url}chaos/services/rates", json={"failure": 1}).json()
            paused = page.post(f"{url}chaos/processes/rates/pause").json()
        assert [each["name"] for each in sick["services"]] == ["rates"]
        assert paused["processes"]["services"] == [{"name": "rates", "state": "paused"}]
        assert lab.service("rates")["state"] == "paused"
        lab.process.process.send_signal(number)
        done = lab.process.finish()

        assert until(lambda: processes_in(home) == [], GONE_WITHIN_S)
        assert lab.process.survivors_after(GONE_WITHIN_S) == []
        if number == signal.SIGINT:
            assert done.returncode == 130
            assert f"load rates:  {url}\nfaults:  {url}chaos/\n" in done.stdout
            assert "Traceback" not in done.stderr
            assert [each["event"] for each in journal(lab)][-2:] == [
                "fault.reverted",
                "system.down",
            ]


def test_a_web_ui_that_cannot_be_had_is_one_line_and_starts_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_experiment(tmp_path)
    write_locust_file(tmp_path / "system.yaml")
    up = ["up", str(tmp_path / "system.yaml"), "--out", str(tmp_path / "out")]
    (tmp_path / "bare.yaml").write_text("services: {redis: {backing: redis}}\n")
    bare = ["up", str(tmp_path / "bare.yaml"), "--out", str(tmp_path / "out")]
    (tmp_path / "other.yaml").write_text(SYSTEM)
    other = ["up", str(tmp_path / "other.yaml"), "--out", str(tmp_path / "out")]

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main([*up, "--locust-port", str(port)]) == 2
    assert main([*bare, "--locust"]) == 2
    assert main([*other, "--locust"]) == 2
    monkeypatch.setattr("lab.run.locust_engine.find_spec", lambda _: None)
    assert main([*up, "--locust"]) == 2
    lines = capsys.readouterr().err.splitlines()

    assert len(lines) == 4
    assert lines[0].startswith(f"port {port} cannot be listened on, perhaps somebody does; choose")
    assert lines[1].endswith("bare.yaml has no service that Locust could load; leave --locust out")
    assert lines[2] == (
        f"{tmp_path}/other.yaml has no Locust file; write one at {tmp_path}/other/locustfile.py, "
        "or leave --locust out"
    )
    assert lines[3].startswith("--locust needs Locust, which ")
    assert not (tmp_path / "out").exists()


def test_a_port_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["up", "system.yaml", "--locust-port", "70000"])

    assert "must be a port from 1 to 65535, got '70000'" in capsys.readouterr().err


def test_the_service_to_load_is_the_last_that_no_other_needs(tmp_path: Path) -> None:
    (tmp_path / "system.yaml").write_text(
        SYSTEM + '  front: {run: "a", needs: [rates]}\n  redis: {backing: redis}\n'
    )

    assert locust_ui.entrance(read_system(tmp_path / "system.yaml")).name == "front"
