"""What docs/loadgen.md claims, done."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from loadgen import Sample
from loadgen.command.arguments import parse
from loadgen.command.loads import load_from
from tests.docs.snippets import Snippet, snippets

PAGE = Path(__file__).parents[2] / "docs" / "loadgen.md"
PAGES_SERVER = "http://127.0.0.1:5402"
TEXT = PAGE.read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ python -m loadgen (.+)$", TEXT, re.MULTILINE)


class _Fine(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Fine) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "snippet", list(snippets(PAGE)), ids=lambda snippet: f"line {snippet.line}"
)
def test_a_snippet_prints_what_stands_below_it(snippet: Snippet, url: str) -> None:
    printed = io.StringIO()
    code = snippet.code.replace(PAGES_SERVER, url)
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(PAGE), "exec"), {})  # noqa: S102 - the page's own code

    assert printed.getvalue() == snippet.output


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_one_that_the_command_line_takes(line: str) -> None:
    options = parse(shlex.split(line))

    assert load_from(options, options.url).requests


def test_options_that_the_text_names_are_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"])
    known = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    named = set(re.findall(r"(?<=`)--[a-z][a-z-]+", TEXT))

    assert named
    assert named <= known


def test_the_table_of_the_files_columns_is_whole() -> None:
    table = TEXT[TEXT.index("| column |") : TEXT.index("Exit codes:")]
    first_cells = [row.split("|")[1] for row in table.strip().splitlines()[2:]]
    named = {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)}

    assert named == {"target", "round", *Sample._fields}
