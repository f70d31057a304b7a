"""What the command line asks for, and what it refuses; nothing is sent."""

import subprocess
import sys
from pathlib import Path

import pytest

from loadgen import Closed, JsonFieldRule, Load, Open, Stage, StatusRule, TimeOuts
from loadgen.command.arguments import parse
from loadgen.command.cli import run
from loadgen.command.loads import load_from

URL = "http://127.0.0.1:8000/x?y=1"


def load_of(*arguments: str, url: str = URL) -> Load:
    return load_from(parse([url, *arguments]), url)


@pytest.mark.parametrize("text", ["0s", "5", "5/s", "-1s", "25h"])
def test_a_time_without_a_unit_or_out_of_range_is_refused_by_its_value(
    capsys: pytest.CaptureFixture[str], text: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse([URL, f"--until={text}"])

    assert f'"{text}"' in capsys.readouterr().err


@pytest.mark.parametrize("text", ["5", "5s", "5/x", "5/", "0/s", "-5/s", "1/ms", "1000001/s"])
def test_a_rate_without_a_unit_or_out_of_range_is_refused_by_its_value(
    capsys: pytest.CaptureFixture[str], text: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse([URL, f"--rate={text}"])

    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        ([], Closed(tasks=4, requests=200)),
        (["-n", "7", "-c", "2"], Closed(tasks=2, requests=7)),
        (["--until", "30s"], Closed(tasks=4, duration_s=30)),
        (
            ["--rate", "500/s", "--until", "30s"],
            Open(stages=(Stage(duration_s=30, rate_per_s=500),)),
        ),
        (
            ["--rate", "100/s", "--ramp-to", "300/s", "-n", "1000", "-c", "9"],
            Open(
                stages=(Stage(duration_s=5, rate_per_s=100, end_rate_per_s=300),), max_connections=9
            ),
        ),
        (
            ["--rate", "60/min", "--until", "1min", "--poisson", "--seed", "3"],
            Open(stages=(Stage(duration_s=60, rate_per_s=1),), poisson=True, seed=3),
        ),
    ],
)
def test_the_amount_is_a_closed_or_an_open_load(arguments: list[str], shape: Closed | Open) -> None:
    assert load_of(*arguments).shape == shape


def test_without_any_rule_2xx_is_ok() -> None:
    assert load_of().outcome == StatusRule(statuses={"2xx": "ok"})


def test_classes_come_from_a_field_or_from_the_status() -> None:
    by_field = load_of("--field", "source", "--classes", "fresh, stale").outcome
    by_status = load_of("--status", "2xx=ok,404=unknown").outcome

    assert by_field == JsonFieldRule(json_field="source", classes=("fresh", "stale"))
    assert by_status == StatusRule(statuses={"2xx": "ok", "404": "unknown"})


def test_time_outs_are_told_apart_and_connecting_takes_no_longer_than_the_whole() -> None:
    apart = ["--connect-timeout", "1s", "--first-byte-timeout", "2s", "--timeout", "3s"]

    assert load_of().time_outs == TimeOuts(connect_s=10, whole_s=60)
    assert load_of("--timeout", "3s").time_outs == TimeOuts(connect_s=3, whole_s=3)
    assert load_of(*apart).time_outs == TimeOuts(connect_s=1, first_byte_s=2, whole_s=3)


def test_a_body_is_posted_and_read_from_a_file_after_an_at(tmp_path: Path) -> None:
    order = tmp_path / "order.json"
    order.write_bytes('{"city": "Київ"}\r\n'.encode())
    inline = load_of("-d", "a=1").requests[0]
    put = load_of("-d", f"@{order}", "-X", "PUT", "-H", "X-A:  b: c ").requests[0]

    assert (inline.method, inline.body) == ("POST", "a=1")
    assert (put.method, put.body) == ("PUT", '{"city": "Київ"}\r\n')
    assert put.headers == {"X-A": "b: c"}


def test_a_socket_takes_the_place_of_the_host_and_the_host_header_stays() -> None:
    request = load_of("--unix", "/run/a b.sock", url="http://shop.example:81/x?y=1").requests[0]

    assert request.url == "http+unix://%2Frun%2Fa%20b.sock/x?y=1"
    assert request.headers == {"Host": "shop.example:81"}


def test_connections_warm_up_and_certificates_are_as_asked() -> None:
    load = load_of("--no-keepalive", "--insecure", "--warmup", "50")

    assert (load.keep_alive, load.verify_tls, load.warmup_requests) == (False, False, 50)
    assert load_of("--warmup", "2s").warmup_s == 2


def test_another_host_is_loaded_only_where_it_is_named() -> None:
    url = "http://Example.com/"

    assert load_of("--allow-host", "example.COM", url=url).requests[0].url == url
    load_of("--allow-host", "[fd00::1]", url="http://[fd00::1]/")
    with pytest.raises(ValueError, match=r"--allow-host example\.com"):
        load_of("--allow-host", "example.org", url=url)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "the following arguments are required: URL"),
        (["127.0.0.1/x"], "url must be like http://127.0.0.1:8000/path, got '127.0.0.1/x'"),
        (["http://10.0.0.1/"], "10.0.0.1 is not this machine; to send it a load that its owner"),
        ([URL, "--against", "http://10.0.0.1/"], "10.0.0.1 is not this machine"),
        ([URL, "-n", "0"], "-n/--requests: must be a whole number from 1, got '0'"),
        ([URL, "-n", "many"], "-n/--requests: must be a whole number from 1, got 'many'"),
        ([URL, "-c", "-4"], "-c/--tasks: must be a whole number from 1, got '-4'"),
        ([URL, "-n", "5", "--until", "3s"], "--until: not allowed with argument -n/--requests"),
        ([URL, "--until", "30"], '--until: must say its unit, got "30"; write 30ms or 30s'),
        ([URL, "--rate", "500"], '--rate: must say its unit, got "500"; write 500/s'),
        ([URL, "--rate", "5/s"], "--rate has no end; add --until 30s or -n 1000"),
        (
            [URL, "--rate", "0.5/s", "--until", "1s"],
            "no request falls due: the rate comes to 0.5 requests in 1 s; raise the rate or",
        ),
        (
            [URL, "--rate", "0.5/s", "--until", "1s", "--poisson"],
            "no request falls due with seed 0: the rate comes to 0.5 requests in 1 s",
        ),
        ([URL, "--ramp-to", "5/s"], "--ramp-to is for a rate; add --rate 100/s or drop it"),
        ([URL, "--poisson"], "--poisson is for a rate; add --rate 100/s or drop it"),
        ([URL, "--rate", "5/s", "-n", "5", "--poisson"], "replace -n by --until 30s"),
        ([URL, "--rate", "5/s", "-n", "5", "--warmup", "5"], "warmup_requests is for a closed"),
        ([URL, "--timeout", "nan"], '--timeout: must be a duration such as 500ms, got "nan"'),
        ([URL, "--field", "source"], "--field source needs its values; add --classes fresh,stale"),
        ([URL, "--classes", "a,b"], "--classes a,b are values of a field; add --field NAME"),
        ([URL, "--field", "x", "--classes", "a,a"], "classes must be distinct"),
        ([URL, "--field", "x", "--classes", "a,error"], "leave 'error' out"),
        ([URL, "--status", "2xx"], "--status must be like 2xx=ok,404=unknown, got '2xx'"),
        ([URL, "--status", "9xx=a"], "statuses must be like 404 or 2xx, got '9xx'"),
        ([URL, "--status", "2xx=a,2xx=b"], "--status names 2xx twice"),
        ([URL, "-H", "nonsense"], "-H must be like 'Accept: text/html', got 'nonsense'"),
        ([URL, "-H", "A: 1", "-H", "a: 2"], "-H a is given twice"),
        ([URL, "-X", "GE T"], "method must be a word like GET, got 'GE T'"),
        ([URL, "-d", "@/nowhere/x"], "-d: cannot read /nowhere/x: No such file or directory"),
        ([URL, "-d", f"@{sys.executable}"], "is not UTF-8 text"),
        ([URL, "--csv", "/nowhere/x.csv"], "--csv: cannot write /nowhere/x.csv: No such file"),
        ([URL, "--csv", __file__], "is there; name another file"),
        (["https://localhost/", "--unix", "/x"], "--unix goes with an http URL"),
        ([URL, "--rounds", "3"], "--rounds 3 is for a comparison; add --against URL2"),
        ([URL, "-d", "\udcff"], r"arguments must be UTF-8, got '\udcff'"),
        ([URL, "--against", ""], "url must be like http://127.0.0.1:8000/path, got ''"),
        ([URL, "--bogus"], "unrecognized arguments: --bogus"),
    ],
)
def test_bad_arguments_are_one_clear_line_and_exit_2(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        exit_code: object = run(parse(arguments))
    except SystemExit as end:
        exit_code = end.code
    said = capsys.readouterr()

    assert exit_code == 2
    assert complaint in said.err
    assert said.err.startswith("loadgen: ")
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_help_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "loadgen", "--help"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}

    assert "--allow-host NAME" in done.stdout
    assert "loadgen.command.arguments" in imported  # the list is of this run
    assert not {"aiohttp", "uvloop", "rich", "pandas", "numpy", "locust", "pydantic"} & imported
