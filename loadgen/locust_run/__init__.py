"""Loads sent by Locust's own master and workers, with every request's sample kept.

    fitness       which loads Locust can send
    processes     starts the master and the workers, and never leaves one behind
    session       the two kept for one load after another, as their user sees them
    locustfile    what those processes execute; also for workers on other machines
    master        the master's part of it
    share         a worker's part: tickets, samples, how late it was itself

Locust itself is imported by `locustfile` alone: it changes the process that imports it.
"""

from loadgen.locust_run.fitness import why_unfit
from loadgen.locust_run.processes import LocustFailedError
from loadgen.locust_run.session import LocustSession, start_locust

__all__ = ["LocustFailedError", "LocustSession", "start_locust", "why_unfit"]
