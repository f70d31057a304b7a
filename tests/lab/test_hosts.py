from pathlib import Path

import pytest

from lab.cli import main

SYSTEM = "services: {api: {url: 'http://%s/v1', ready: /health}}\n"
EXPERIMENT = """\
title: Somebody's service
system: system.yaml
load: {request: "GET {api.url}/", requests: 1, tasks: 1}
outcome: {json: a, classes: [b]}
clients: {direct: {}}
faults: {none: []}
"""


@pytest.mark.parametrize("command", ["run", "validate", "up"])
def test_another_host_is_refused_in_one_line_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (tmp_path / "system.yaml").write_text(SYSTEM % "api.example.com:8080")
    (tmp_path / "x.yaml").write_text(EXPERIMENT)
    file = tmp_path / ("system.yaml" if command == "up" else "x.yaml")
    out = () if command == "validate" else ("--out", str(tmp_path / "out"))

    assert main([command, str(file), *out, "--allow-host", "other.example.com"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith(
        "system.yaml: the service api is at api.example.com, which is another machine; if it is "
        "yours to load and to make sick, add --allow-host api.example.com"
    )
    assert not (tmp_path / "out").exists()


def test_a_host_that_is_named_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "system.yaml").write_text(SYSTEM % "API.example.com")
    (tmp_path / "x.yaml").write_text(EXPERIMENT)

    assert main(["validate", str(tmp_path / "x.yaml"), "--allow-host", "api.Example.com"]) == 0
