"""As many open connections as the system grants."""

import resource

LEAST = 32  # open files: Python and its event loop take a dozen before the first connection


def allow_many_connections() -> int:
    """Raise the limit on open files to the hard one, where that is higher; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def check_descriptors() -> None:
    """Raise `ValueError` if there are too few even for the generator itself."""
    limit = allow_many_connections()
    if 0 <= limit < LEAST:  # below 0 is infinity
        raise ValueError(
            f"the limit on open files is {limit}, and the generator needs {LEAST}; raise ulimit -n"
        )
