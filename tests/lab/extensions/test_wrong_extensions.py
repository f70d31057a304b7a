"""Code of a user's own that is wrong: one line with the file and what to do."""

from pathlib import Path

import pytest

from lab.spec.extensions import ExtensionFault
from lab.spec.problems import FileError
from lab.spec.reading import read_experiment
from loadgen import CodeRule
from tests.lab.spec.folder import EXPERIMENT, write_folder

GOOD = """\
class Slow:
    kind = "slow"
    def __init__(self, *, by_ms, why=""):
        if by_ms < 0:
            raise ValueError(f"by_ms must be at least 0, got {by_ms}")
    def applied(self, target, chance):
        ...

class Big:
    kind = "big"
    classes = ("fresh", "stale")
    def __init__(self, limit=10):
        len(limit) if isinstance(limit, str) else limit + 0
    def classify(self, reply):
        ...

class Help:
    kind = "no extension"
"""
LINE = "extensions: [own.py]\n"
BARE = EXPERIMENT[: EXPERIMENT.index("override:")]


def write(folder: Path, *, fault: str = "", outcome: str = "", code: str = GOOD) -> Path:
    (folder / "own.py").write_text(code)
    text = BARE.replace("system: system.yaml\n", "system: system.yaml\n" + LINE)
    if fault:
        text = text.replace("{chaos: rates, failure: 0.3}", fault)
    if outcome:
        text = text.replace("outcome: {json: source, classes: [fresh, stale]}", outcome)
    return write_folder(folder, experiment=text)


def test_a_fault_and_a_rule_are_read_with_their_options(tmp_path: Path) -> None:
    fault = "{slow: front, by_ms: 5, why: [a, 1.5, {b: true}]}"

    experiment = read_experiment(write(tmp_path, fault=fault, outcome="outcome: {big: {limit: 7}}"))

    code = (tmp_path / "own.py").resolve()
    assert experiment.conditions[1].faults == (
        ExtensionFault(
            kind="slow",
            service="front",
            code=f"{code}:Slow",
            options={"by_ms": 5, "why": ["a", 1.5, {"b": True}]},
        ),
    )
    assert experiment.outcome == CodeRule(code=f"{code}:Big", options={"limit": 7})
    assert experiment.outcome.classes == ("fresh", "stale")


EXTENSION = "3:14: extensions names own.py, "
OUTCOME = "8:10: outcome is refused: own.py:Big "
WRONG: dict[str, tuple[dict[str, str], str]] = {
    "an option out of range": (
        {"fault": "{slow: front, by_ms: -1}"},
        (
            "16:22: fault is refused by own.py:Slow: own.py:5: ValueError: by_ms must be at least "
            "0, got -1; change the options or the class"
        ),
    ),
    "a missing option": (
        {"fault": "{slow: front}"},
        "16:22: by_ms is missing; write e.g. by_ms: …",
    ),
    "an unknown option": (
        {"fault": "{slow: front, by_ns: 1}"},
        '16:36: unknown key "by_ns"; did you mean "by_ms"?',
    ),
    "an unknown service": (
        {"fault": "{slow: fornt, by_ms: 1}"},
        '16:29: slow names "fornt", which is no service of the system; did you mean "front"?',
    ),
    "an unknown kind": (
        {"fault": "{slwo: front}"},
        (
            "16:22: fault must have exactly one of the keys chaos, link, pause, stop, kill, "
            "restart, flap, burn, memory, files, flush, slow, got none of them; "
            'did you mean "slow"?'
        ),
    ),
    "an option of a wrong type": (
        {"outcome": "outcome: {big: {limit: []}}"},
        OUTCOME
        + "refuses its options: own.py:13: TypeError: can only concatenate list "
        + '(not "int") to list; change the options or the class',
    ),
    "a class called error": (
        {"outcome": "outcome: {big: {}}", "code": GOOD.replace('"stale"', '"error"')},
        OUTCOME
        + "has wrong classes: the class 'error' is what no other class matches; drop it; "
        + "change the options or the class",
    ),
    "a class that is a column": (
        {"outcome": "outcome: {big: {}}", "code": GOOD.replace('"stale"', '"client"')},
        (
            '8:10: outcome uses the name "client", which is a column of its own; '
            "rename it, e.g. client_reply"
        ),
    ),
    "no such module": (
        {"code": "import nowhere\n"},
        EXTENSION
        + "which cannot be imported: own.py:1: ModuleNotFoundError: No module named "
        + "'nowhere'; correct that line",
    ),
    "no Python": (
        {"code": "def\n"},
        EXTENSION
        + "which cannot be imported: own.py:1: SyntaxError: invalid syntax; "
        + "correct that line",
    ),
    "an end of the process": (
        {"code": "raise SystemExit\n"},
        EXTENSION + "which cannot be imported: own.py:1: SystemExit; correct that line",
    ),
    "no extension": (
        {"code": "x = 1\n"},
        EXTENSION
        + "which has no fault and no outcome rule; give it a class with kind and "
        + "applied, or with kind and classify",
    ),
    "a class without a kind": (
        {"code": GOOD.replace('kind = "slow"', "")},
        EXTENSION + 'whose class Slow has the kind None; give it a word, e.g. kind = "stutter"',
    ),
    "a kind that is taken": (
        {"code": GOOD.replace('"slow"', '"chaos"')},
        EXTENSION + 'whose kind "chaos" there is already; rename it',
    ),
}


@pytest.mark.parametrize(("parts", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_one_line_and_nothing_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: dict[str, str], said: str
) -> None:
    write(tmp_path, **parts)
    monkeypatch.chdir(tmp_path)

    with pytest.raises(FileError) as raised:
        read_experiment(Path("x.yaml"))

    assert str(raised.value) == f"x.yaml:{said}"
