"""The command: from arguments to what is printed and the exit code."""

import json
import sys
from argparse import Namespace
from contextlib import ExitStack
from dataclasses import dataclass

from console import complain, say
from loadgen.command.comparison import Round, is_a_first, ratios_of
from loadgen.command.documents import comparison_document, figures_document
from loadgen.command.figures import Figures, figures_of
from loadgen.command.loads import load_from
from loadgen.command.rows import RequestsFile
from loadgen.command.sending import send
from loadgen.command.text import comparison_text, figures_text, verdict
from loadgen.descriptors import check_descriptors
from loadgen.driver import WorkerError
from loadgen.load import Load

BAD_USAGE, NO_VALID_DATA, INTERRUPTED = 2, 3, 130
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class _Work:
    """What the arguments ask for, checked."""

    options: Namespace
    a: Load
    b: Load | None
    file: RequestsFile | None


def run(options: Namespace) -> int:
    """Send what the arguments ask for and print its figures; return the exit code."""
    with ExitStack() as stack:
        try:
            work = _prepare(options, stack)
        except ValueError as problem:
            _say(str(problem))
            return BAD_USAGE
        try:
            exit_code = _measure(work) if work.b is None else _compare(work, work.a, work.b)
        except WorkerError as problem:
            _say(str(problem))
            return NO_VALID_DATA
        if work.file is not None and work.file.failure:
            _say(work.file.failure)
            return exit_code or BAD_USAGE
        return exit_code


def _prepare(options: Namespace, stack: ExitStack) -> _Work:
    if options.rounds and options.against is None:
        raise ValueError(f"--rounds {options.rounds} is for a comparison; add --against URL2")
    check_descriptors()
    a = load_from(options, options.url)
    b = None if options.against is None else load_from(options, options.against)
    file = stack.enter_context(RequestsFile(options.csv)) if options.csv else None
    return _Work(options, a, b, file)


def _measure(work: _Work) -> int:
    figures, is_interrupted = _send(work, work.a)
    if work.options.json:
        _print_json(figures_document(work.a, figures, is_interrupted=is_interrupted))
    elif figures.report is not None:
        say(figures_text(figures))
    if is_interrupted:
        _say(_interrupted(figures))
    return _exit_code([figures], is_interrupted=is_interrupted)


def _interrupted(figures: Figures) -> str:
    if figures.report is None:
        return "interrupted before there were any figures"
    return f"interrupted; the figures are of the {figures.requests} requests that had ended"


def _compare(work: _Work, a: Load, b: Load) -> int:
    rounds: list[Round] = []
    planned, is_interrupted = work.options.rounds or ROUNDS, False
    while len(rounds) < planned and not is_interrupted:
        pair, is_interrupted = _send_round(work, a, b, len(rounds))
        if pair is not None:
            rounds.append(pair)
    ratios = ratios_of(rounds)
    if work.options.json:
        _print_json(comparison_document((a, b), rounds, ratios, is_interrupted=is_interrupted))
    elif rounds:
        say(f"A {work.options.url}\nB {work.options.against}\n")
        say(comparison_text(rounds, ratios))
    every = [figures for each in rounds for figures in (each.a, each.b)]
    limited = next((figures for figures in every if figures.limits), None)
    if limited is not None and not work.options.json:
        say(f"\n{verdict(limited)}")  # the first of them
    if is_interrupted:
        _say(f"interrupted; the figures are of {len(rounds)} of {planned} rounds")
    return _exit_code(every, is_interrupted=is_interrupted)


def _send_round(work: _Work, a: Load, b: Load, number: int) -> tuple[Round | None, bool]:
    """Send both; return their figures, or None if an interrupt left the round incomplete."""
    loads = {"A": a, "B": b} if is_a_first(number) else {"B": b, "A": a}
    figures = {}
    for target, load in loads.items():
        figures[target], is_interrupted = _send(work, load, target=target, number=number + 1)
        if is_interrupted:
            return None, True
    return Round(a=figures["A"], b=figures["B"]), False


def _send(work: _Work, load: Load, *, target: str = "A", number: int = 1) -> tuple[Figures, bool]:
    options = work.options
    live_to = None if options.quiet or sys.stderr is None else sys.stderr.fileno()
    samples, is_interrupted = send(
        load,
        processes=options.processes,
        live_to=live_to,
        label=f"{target}, round {number}: " if work.b else "",
    )
    if work.file is not None:
        work.file.add(samples, target=target, number=number)
    return figures_of(samples, load.outcome.classes), is_interrupted


def _exit_code(loads: list[Figures], *, is_interrupted: bool) -> int:
    """Return the exit code, and say why there is no valid data where that is so."""
    if is_interrupted:
        return INTERRUPTED
    if any(figures.has_no_connection for figures in loads):
        _say("no connection was made, so nothing was measured; is the target up, the URL right?")
        return NO_VALID_DATA
    if any(figures.limits for figures in loads):
        _say("these are figures of the generator and not of the target, so no valid data")
        return NO_VALID_DATA
    return 0


def _print_json(document: dict[str, object]) -> None:
    say(json.dumps(document, indent=2, ensure_ascii=False))


def _say(text: str) -> None:
    complain(f"loadgen: {text}")
