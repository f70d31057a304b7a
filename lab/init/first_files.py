"""A first system and a first experiment as text."""

import json

SERVICE = "app"

_SYSTEM = """\
# Written by `python -m lab init`; change what you like.
services:
  {service}:
    {how}
"""
_EXPERIMENT = """\
# What do its callers notice when the way to {service} gets sick? Change what you like:
#   a fault     {{link: load -> {service}, bandwidth: 10 KiB/s}}
#   a request   mix of several, with headers and bodies
#   a gate      {{ok: ">= 99 %", p95: "< 300 ms"}} under expect: exit code 1 if it does not hold
# A share of connections is a share of requests only if each request has a connection of its own,
# as here. Without `connections: per_request` they are kept, which is faster, and those that were
# not hit serve nearly all requests.
title: {title}
system: system.yaml
load:
  request: {request}
  requests: 40
  tasks: 4
  timeout: 500ms
  connections: per_request
outcome: {{status: {{ok: 2xx}}}} # anything else is an error
clients: {{caller: {{}}}}
repeats: 3
faults:
  none: []
  50 ms each way: [{{link: load -> {service}, latency: 50ms, jitter: 10ms}}]
  30 % answer 503: [{{link: load -> {service}, status: 503, probability: 30 %}}]
  30 % cut short: [{{link: load -> {service}, truncate: true, probability: 30 %}}]
  30 % of connections reset: [{{link: load -> {service}, reset: true, probability: 30 %}}]
  nobody listens: [{{link: load -> {service}, refuse: true}}]
expect:
  - {{fault: none, ok: 100 %}}
"""


def system_text(*, run: str | None, url: str | None) -> str:
    """Return the system file of one service, which is started with *run* or runs at *url*."""
    how = f"url: {_quoted(url)}" if run is None else f"run: {_quoted(run)}"
    return _SYSTEM.format(service=SERVICE, how=how)


def experiment_text(*, path: str) -> str:
    """Return an experiment that requests *path*."""
    return _EXPERIMENT.format(
        service=SERVICE,
        title=_quoted(f"GET {path} under five faults"),
        request=_quoted(f"GET {{{SERVICE}.url}}{path}"),
    )


def _quoted(value: object) -> str:
    """Return a text as YAML: in double quotes, which take what JSON's take."""
    return json.dumps(value, ensure_ascii=False)
