"""The rates system's Locust file, without a browser, against a server that answers in every way."""

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.lab.up.locust_process import LOCUSTFILE
from tests.loadgen.scripted_server import json_reply, scripted_server

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

REPLIES = [
    json_reply('{"source": "fresh"}'),
    json_reply('{"source": "stale"}'),
    json_reply("{}", "503 Service Unavailable"),
    json_reply("<html>"),
    None,
]
NAMES = ["fresh", "stale", "error 503", "error body", "error no reply"]


async def test_each_request_is_one_row_named_by_its_caller_and_its_outcome(tmp_path: Path) -> None:
    async with scripted_server(lambda n: REPLIES[n % len(REPLIES)]) as server:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), "--host", server.url[:-1]),
            *("--headless", "--users", "2", "--spawn-rate", "2"),
            *("--stop-timeout", "5", "--only-summary", "--json"),
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(60):
                while len(server.requests) < 8 * len(REPLIES):  # noqa: ASYNC110 - as they come
                    await asyncio.sleep(0.02)
        finally:
            process.terminate()
            output, errors = await process.communicate()
    rows = {row["name"]: row for row in json.loads(output)}
    sent = Counter("raw" if b"raw=true" in head else "resilient" for head in server.requests)

    assert b"Traceback" not in errors
    assert sent.keys() == {"raw", "resilient"}
    for caller in sent:
        own = {name: row for name, row in rows.items() if name.startswith(f"/convert {caller} -> ")}
        assert own.keys() <= {f"/convert {caller} -> {name}" for name in NAMES}
        assert sum(row["num_requests"] for row in own.values()) == sent[caller]
    assert {name.partition(" -> ")[2] for name in rows} == set(NAMES)
    for name, row in rows.items():
        assert row["num_failures"] == (row["num_requests"] if "error" in name else 0)
