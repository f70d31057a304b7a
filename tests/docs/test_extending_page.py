"""What docs/extending.md shows, run as it stands there."""

import re
from pathlib import Path

import pytest

from tests.docs.snippets import snippets
from tests.lab.small_experiment import SYSTEM, LabProcess, rows

pytestmark = pytest.mark.integration

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Write the page's files into a folder, and return that."""
    text = PAGE.read_text(encoding="utf-8")
    fence = re.search(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert fence is not None
    (tmp_path / "experiment.yaml").write_text(fence[1], encoding="utf-8")
    (tmp_path / "my_lab.py").write_text("\n".join(each.code for each in snippets(PAGE)))
    (tmp_path / "system.yaml").write_text(SYSTEM)
    return tmp_path


def test_the_experiment_of_the_page_runs_under_its_own_fault_and_rule(page: Path) -> None:
    lab = LabProcess("run", page / "experiment.yaml", "--out", page / "out")
    done = lab.finish()
    healthy, stuttering = rows(page / "out" / "experiment" / "latest" / "runs.csv")

    assert done.returncode == 0, done.stderr
    assert lab.survivors() == []
    assert (healthy["note"], stuttering["note"]) == ("", "")
    assert float(healthy["mean_ms"]) < float(stuttering["mean_ms"])


def test_a_killed_lab_leaves_no_process_that_the_fault_of_the_page_holds(page: Path) -> None:
    only = ("--only", "fault=stuttering")
    lab = LabProcess("run", page / "experiment.yaml", "--out", page / "out", *only)
    lab.wait_for("fault.applied", page / "out" / "experiment" / "latest")
    lab.process.kill()
    lab.finish()

    assert lab.survivors_after(6) == []


def test_a_rule_that_fails_ends_the_run_with_the_line_that_the_page_shows(page: Path) -> None:
    shown = PAGE.read_text(encoding="utf-8").partition("```text\n")[2].partition("\n")[0]
    code = (page / "my_lab.py").read_text()
    line = next(n for n, each in enumerate(code.splitlines(), 1) if '["at"]' in each)
    (page / "my_lab.py").write_text(code.replace('["at"]', '["moment"]'))

    lab = LabProcess("run", page / "experiment.yaml", "--out", page / "out")
    done = lab.finish()

    assert done.returncode == 3
    expected = re.sub(r":\d+:", f":{line}:", shown).replace("'at'", "'moment'")
    assert expected in done.stderr.splitlines()
    assert "Traceback" not in done.stderr
    assert lab.survivors() == []
