"""Locust as a tool: `python -m benchmarks.load.locust_users URL CONNECTIONS SECONDS`.

Users of its faster kind, without waits, in one process and without its web server.
"""

from locust import FastHttpUser, task  # first: it patches the standard library
from locust.env import Environment

# isort: split
import sys
from time import perf_counter

import gevent  # type: ignore[import-untyped]

from benchmarks.load.reading import Reading, own_cpu_s


class Caller(FastHttpUser):
    """Asks again as soon as it is answered, and looks at the field as our engine does."""

    @task
    def ask(self) -> None:
        """Get the URL."""
        assert self.client.get("").json()["source"] == "fresh"


def measure(url: str, connections: int, duration_s: float) -> Reading:
    """Count from when all users are there; the users are not stopped to be counted."""
    environment = Environment(user_classes=[Caller], host=url)
    runner = environment.create_local_runner()
    runner.start(connections, spawn_rate=connections)
    while runner.user_count < connections:
        gevent.sleep(0.01)
    runner.stats.reset_all()
    before_s, began = own_cpu_s(), perf_counter()
    gevent.sleep(duration_s)
    took_s, cpu_s = perf_counter() - began, own_cpu_s() - before_s
    total = runner.stats.total
    assert not total.num_failures, dict(runner.stats.errors)
    reading = Reading(
        requests=total.num_requests,
        duration_s=took_s,
        p50_us=total.get_response_time_percentile(0.5) * 1e3,
        p99_us=total.get_response_time_percentile(0.99) * 1e3,
        cpu_s=cpu_s,
    )
    runner.quit()
    return reading


if __name__ == "__main__":
    print(measure(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])).to_line())
