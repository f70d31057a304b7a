"""A small experiment with its system, in a folder of its own."""

from pathlib import Path

SYSTEM = """\
services:
  redis: {backing: redis}
  front:
    run: "{python} -m front --port {port}"
    ready: /health
    needs: [redis, rates]
    env: {RATES_URL: "{rates.url}", REDIS_URL: "{redis.url}"}
    attempts: {path: /stats, json: attempts}
  rates:
    run: "{python} -m rates_api --port {port}"
    ready: /health
    chaos: /chaos
"""

EXPERIMENT = """\
title: Converter under faults
system: system.yaml
load:
  request: GET {front.url}/convert?from=USD&amount=100
  requests: 200
  tasks: 4
outcome: {json: source, classes: [fresh, stale]}
clients:
  resilient: {}
  raw: {query: {raw: "true"}}
warmup: 1
repeats: 5
faults:
  none: []
  30 % replies 500: [{chaos: rates, failure: 0.3}]
  500 ms delay: [{chaos: rates, delay: 500ms}]
  rates stopped: [{pause: rates}]
override:
  - {fault: rates stopped, client: raw, requests: 8}
reference: published.csv
expect:
  - {fault: none, fresh: 100 %}
"""

REFERENCE = """\
fault,client,figure,published,low,high,basis
none,raw,fresh,200,200,200,nothing fails
none,raw,mean_ms,3,0,12,"the machine, four times slower"
"""


def write_folder(
    folder: Path, *, experiment: str = EXPERIMENT, system: str = SYSTEM, reference: str = REFERENCE
) -> Path:
    """Write the three files into *folder* and return the experiment's path."""
    (folder / "system.yaml").write_text(system, encoding="utf-8")
    (folder / "published.csv").write_text(reference, encoding="utf-8")
    path = folder / "x.yaml"
    path.write_text(experiment, encoding="utf-8")
    return path
