"""A load sent by Locust's own master and workers, with every request's sample kept.

    load          what to send, how the requests are split over the workers
    columns       the samples of a run, a list a column, as they travel
    processes     starts the master and the workers, and never leaves one behind
    run           the run as its caller sees it
    locustfile    what those processes execute; also for workers on other machines

Locust itself is imported by `locustfile` alone: it changes the process that imports it.
"""

from loadgen.locust_run.columns import Columns
from loadgen.locust_run.load import LocustLoad
from loadgen.locust_run.processes import LocustFailedError
from loadgen.locust_run.run import LocustRun, run_locust_load

__all__ = ["Columns", "LocustFailedError", "LocustLoad", "LocustRun", "run_locust_load"]
