"""From the arguments of the command line to a load."""

import argparse
from pathlib import Path
from urllib.parse import quote, urlsplit

from loadgen.hosts import check_host
from loadgen.load import Closed, Load, Open, Request, TimeOuts
from loadgen.outcomes import ERROR_CLASS, JsonFieldRule, OutcomeRule, StatusRule
from loadgen.schedule import Stage
from loadgen.url import parse_url

REQUESTS, TASKS, CONNECTIONS, CONNECT_S = 200, 4, 1000, 10.0


def load_from(options: argparse.Namespace, url: str) -> Load:
    """Return the load that the arguments ask for, sent to *url*.

    Raises:
        ValueError: arguments that do not go together, or a value that cannot be sent.
    """
    if options.unix is None:
        check_host(url, options.allowed_hosts)
    return Load(
        requests=(_request(options, url),),
        shape=_open(options) if options.rate else _closed(options),
        outcome=_rule(options),
        time_outs=TimeOuts(
            connect_s=options.connect_timeout or min(CONNECT_S, options.timeout),
            first_byte_s=options.first_byte_timeout,
            whole_s=options.timeout,
        ),
        keep_alive=not options.no_keepalive,
        verify_tls=not options.insecure,
        **options.warmup,
    )


def _closed(options: argparse.Namespace) -> Closed:
    if options.ramp_to or options.poisson:
        given = "--ramp-to" if options.ramp_to else "--poisson"
        raise ValueError(f"{given} is for a rate; add --rate 100/s or drop it")
    tasks = options.tasks or TASKS
    if options.until:
        return Closed(tasks=tasks, duration_s=options.until)
    return Closed(tasks=tasks, requests=options.requests or REQUESTS)


def _open(options: argparse.Namespace) -> Open:
    if not (options.until or options.requests):
        raise ValueError("--rate has no end; add --until 30s or -n 1000")
    if options.requests and options.poisson:
        raise ValueError("--poisson draws how many requests there are; replace -n by --until 30s")
    end = options.ramp_to or options.rate
    duration_s = options.until or options.requests / ((options.rate + end) / 2)
    stage = Stage(duration_s=duration_s, rate_per_s=options.rate, end_rate_per_s=options.ramp_to)
    return Open(
        stages=(stage,),
        poisson=options.poisson,
        max_connections=options.tasks or CONNECTIONS,
        seed=options.seed,
    )


def _request(options: argparse.Namespace, url: str) -> Request:
    headers = _headers(options.headers)
    if options.unix is not None:
        url, authority = _over_socket(url, options.unix)
        if "host" not in {name.lower() for name in headers}:
            headers["Host"] = authority
    body = None if options.body is None else _body(options.body)
    method = options.method or ("GET" if body is None else "POST")
    return Request(url=url, method=method, headers=headers, body=body)


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.strip()
        if not colon or not name:
            raise ValueError(f"-H must be like 'Accept: text/html', got {line!r}")
        if name.lower() in {known.lower() for known in headers}:
            raise ValueError(f"-H {name} is given twice; write its values into one, by comma")
        headers[name] = value.strip()
    return headers


def _body(argument: str) -> str:
    if not argument.startswith("@"):
        return argument
    path = Path(argument[1:])
    try:
        return path.read_bytes().decode()
    except OSError as failure:
        raise ValueError(f"-d: cannot read {path}: {failure.strerror}") from failure
    except UnicodeDecodeError as problem:
        raise ValueError(f"-d: {path} is not UTF-8 text ({problem.reason})") from problem


def _over_socket(url: str, path: str) -> tuple[str, str]:
    """Return the URL over a socket and what `Host` would say without it."""
    parsed, parts = parse_url(url), urlsplit(url)
    if parts.scheme != "http":
        raise ValueError(f"--unix goes with an http URL, got {url!r}")
    return f"http+unix://{quote(path, safe='')}{parsed.target}", parsed.authority


def _rule(options: argparse.Namespace) -> OutcomeRule:
    if options.field is None:
        if options.classes is not None:
            raise ValueError(
                f"--classes {options.classes} are values of a field; add --field NAME, or write "
                "--status 2xx=ok,404=unknown"
            )
        return StatusRule(statuses=_statuses(options.status or "2xx=ok"))
    classes = _names(options.classes or "")
    if not classes:
        raise ValueError(f"--field {options.field} needs its values; add --classes fresh,stale")
    if ERROR_CLASS in classes:
        raise ValueError("--classes: leave 'error' out, it is every other reply")
    return JsonFieldRule(json_field=options.field, classes=classes)


def _statuses(argument: str) -> dict[str, str]:
    statuses: dict[str, str] = {}
    for entry in _names(argument):
        status, equals, name = (part.strip() for part in entry.partition("="))
        if not (status and equals and name):
            raise ValueError(f"--status must be like 2xx=ok,404=unknown, got {entry!r}")
        if status in statuses:
            raise ValueError(f"--status names {status} twice; give it one class")
        statuses[status] = name
    return statuses


def _names(argument: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in argument.split(",") if name.strip())


def planned(load: Load) -> str:
    """Say how long a load is: ` of 30 s`, or ` of 200 requests`."""
    shape = load.shape
    if isinstance(shape, Open):
        return f" of {shape.duration_s:g} s"
    if shape.duration_s is not None:
        return f" of {shape.duration_s:g} s"
    return f" of {shape.requests} requests"
