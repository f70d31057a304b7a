"""Owns every process of a run, and outlives the lab just long enough to end them all.

The lab is not the parent of the services: a small process is, started first and kept in a session
of its own, so that a terminal's Ctrl-C does not reach it. It starts, signals and reaps on request.
When its input ends, because the lab closed it or was killed, it kills what it started, paused
processes included. Should the keeper itself be killed, the kernel kills its children (Linux).

    process    the keeper itself: standard library only, one thread, no event loop
    client     the lab's side of the conversation
"""

from lab.keeper.client import Keeper, KeeperError, OwnedProcess

__all__ = ["Keeper", "KeeperError", "OwnedProcess"]
