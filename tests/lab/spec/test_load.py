"""The `load` and `outcome` of a file: what is sent, how much, when, and how replies are told."""

from pathlib import Path

import pytest

from lab.spec.experiment import Experiment
from lab.spec.load import Request, SteadyState
from lab.spec.problems import FileError
from lab.spec.reading import read_experiment
from loadgen import BodyPatternRule, HeaderRule, OutcomeRule, StatusRule, TimeOuts
from tests.lab.spec.folder import EXPERIMENT, write_folder

URL = "{front.url}/convert?from=USD&amount=100"
REQUEST = f"  request: GET {URL}\n"
SIZE = "  requests: 200\n  tasks: 4\n"
OUTCOME = "outcome: {json: source, classes: [fresh, stale]}\n"
WITHOUT_BOUNDS = EXPERIMENT[: EXPERIMENT.index("override:")]


def read(folder: Path, *, load: str = REQUEST + SIZE, outcome: str = OUTCOME) -> Experiment:
    text = WITHOUT_BOUNDS.replace(REQUEST + SIZE, load).replace(OUTCOME, outcome)
    return read_experiment(write_folder(folder, experiment=text))


def said_of(folder: Path, **parts: str) -> str:
    """Return what is wrong, without the file's path."""
    with pytest.raises(FileError) as raised:
        read(folder, **parts)
    return str(raised.value).replace(f"{folder}/", "")


MIX = f"""\
  mix:
    browse: {{request: "GET {URL}", weight: 9}}
    order:
      request: POST {{front.url}}/orders
      headers: {{Content-Type: application/json}}
      body: "{{}}"
  headers: {{accept: text/html, content-type: text/plain}}
"""


def test_a_mix_has_a_name_and_a_weight_for_each_request_and_headers_for_all(tmp_path: Path) -> None:
    load = read(tmp_path, load=MIX + SIZE).load

    assert load.names == ("browse", "order")
    assert load.mix == (
        Request(
            method="GET",
            url=URL,
            headers={"accept": "text/html", "content-type": "text/plain"},
            name="browse",
            weight=9,
        ),
        Request(
            method="POST",
            url="{front.url}/orders",
            headers={"accept": "text/html", "Content-Type": "application/json"},
            body="{}",
            name="order",
        ),
    )


@pytest.mark.parametrize(
    ("line", "are_kept"),
    [("", True), ("  connections: kept\n", True), ("  connections: per_request\n", False)],
)
def test_connections_are_kept_unless_each_request_is_to_have_its_own(
    tmp_path: Path, line: str, *, are_kept: bool
) -> None:
    assert read(tmp_path, load=REQUEST + SIZE + line).load.keep_alive is are_kept


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", SteadyState(requests=20)),
        ("steady_state: {requests: 5}\n", SteadyState(requests=5)),
        ("steady_state: none\n", None),
        ('steady_state: "none"\n', None),
        (
            "steady_state: {request: 'GET {front.url}/health', requests: 2}\n",
            SteadyState(requests=2, request=Request(method="GET", url="{front.url}/health")),
        ),
        (
            "steady_state: {request: 'POST {front.url}/try', headers: {a: b}, body: x}\n",
            SteadyState(
                requests=20,
                request=Request(method="POST", url="{front.url}/try", headers={"a": "b"}, body="x"),
            ),
        ),
    ],
)
def test_a_steady_state_is_of_20_requests_unless_the_file_says_otherwise(
    tmp_path: Path, line: str, expected: SteadyState | None
) -> None:
    assert read(tmp_path, outcome=OUTCOME + line).steady_state == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("requests: 10, tasks: 2", (10, None, 2, None)),
        ("for: 30 s, tasks: 2", (None, 30, 2, None)),
        ("for: 30 s, rate: 100/s", (None, 30, None, 100)),
        ("requests: 10, rate: 300/min", (10, None, None, 5)),
    ],
)
def test_a_load_is_closed_or_open_for_a_number_of_requests_or_a_time(
    tmp_path: Path, size: str, expected: tuple[float | None, ...]
) -> None:
    load = read(tmp_path, load=f'  {{request: "GET {URL}", {size}}}\n').load

    assert (load.requests, load.duration_s, load.tasks, load.rate_per_s) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("timeout: 2 s", TimeOuts(connect_s=2, whole_s=2)),
        ("timeouts: {whole: 2 s}", TimeOuts(connect_s=2, whole_s=2)),
        (
            "timeouts: {connect: 1 s, first_byte: 500ms, whole: 3 s}",
            TimeOuts(connect_s=1, first_byte_s=0.5, whole_s=3),
        ),
    ],
)
def test_time_outs_are_one_limit_on_all_or_stand_apart(
    tmp_path: Path, line: str, expected: TimeOuts
) -> None:
    load = read(tmp_path, load=f"{REQUEST}{SIZE}  {line}\n").load

    assert load.time_outs == expected


@pytest.mark.parametrize(
    ("outcome", "rule"),
    [
        (
            "{status: {ok: 2xx, limited: 429, sick: [500, 503]}}",
            StatusRule(statuses={"2xx": "ok", "429": "limited", "500": "sick", "503": "sick"}),
        ),
        (
            "{header: X-Cache, classes: [HIT, MISS]}",
            HeaderRule(header="X-Cache", classes=("HIT", "MISS")),
        ),
        (
            "{body: {empty: '^\\[\\]$', full: id}}",
            BodyPatternRule(patterns={"empty": r"^\[\]$", "full": "id"}),
        ),
    ],
)
def test_replies_are_told_apart_by_status_header_or_body(
    tmp_path: Path, outcome: str, rule: OutcomeRule
) -> None:
    experiment = read(tmp_path, outcome=f"outcome: {outcome}\n")

    assert experiment.outcome == rule


def body_of(folder: Path, body: str) -> tuple[str, ...]:
    [request] = read(
        folder, load=f"  request: POST {{front.url}}/orders\n{SIZE}  body: {body}\n"
    ).load.mix
    return request.bodies or (request.body or "",)


def test_a_body_is_text_or_stands_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "order.json").write_text('{"id": 1}\n')

    assert body_of(tmp_path, "'{}'") == ("{}",)
    assert body_of(tmp_path, "{file: order.json}") == ('{"id": 1}\n',)


def test_a_template_makes_a_body_of_each_row_in_the_order_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text('id,what\n1,"pen, blue"\n2,книга\n')
    (tmp_path / "order.txt").write_text("{{what}}!")
    template = """{template: '{"id": {{id}}, "what": "{{ what }}"}', values: orders.csv}"""

    assert body_of(tmp_path, template) == (
        '{"id": 1, "what": "pen, blue"}',
        '{"id": 2, "what": "книга"}',
    )
    assert body_of(tmp_path, "{file: order.txt, values: orders.csv}") == ("pen, blue!", "книга!")


def test_shuffled_rows_are_the_same_rows_in_an_order_that_their_seed_repeats(
    tmp_path: Path,
) -> None:
    (tmp_path / "ids.csv").write_text("id\n" + "".join(f"{number}\n" for number in range(50)))

    def ids(seed: int) -> list[int]:
        body = f"{{template: '{{{{id}}}}', values: ids.csv, shuffle: {seed}}}"
        return [int(each) for each in body_of(tmp_path, body)]

    assert ids(7) == ids(7) != ids(8)
    assert sorted(ids(7)) == list(range(50)) != ids(7)


def test_a_table_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ids.csv").write_text("id\n" + "1\n" * 1000)
    (tmp_path / "long.txt").write_text("{{id}}" + "x" * 10_000)

    said = said_of(tmp_path, load=f"{REQUEST}{SIZE}  body: {{file: long.txt, values: ids.csv}}\n")

    assert said == (
        "x.yaml:7:9: body comes to over 8000000 bytes in 800 of 1000 rows; "
        "take fewer rows or a shorter template"
    )


TABLE_ERRORS = [
    ("id,id\n1,2\n", 'ids.csv:1:1: the header is "id,id"; write distinct names, e.g. id,amount'),
    ("id\n", "ids.csv:1:1: there is no row of values; write at least one below the header"),
    ("id,a\n1\n", "ids.csv:2:1: 1 cells instead of 2; quote commas in text"),
]


@pytest.mark.parametrize(("table", "expected"), TABLE_ERRORS)
def test_a_wrong_table_of_values_is_said_at_its_own_line(
    tmp_path: Path, table: str, expected: str
) -> None:
    (tmp_path / "ids.csv").write_text(table)

    said = said_of(
        tmp_path, load=f"{REQUEST}{SIZE}  body: {{template: '{{{{id}}}}', values: ids.csv}}\n"
    )

    assert said.splitlines()[0] == expected
