"""As many open connections as the system grants."""

import resource


def allow_many_connections() -> None:
    """Raise the limit on open files to the hard one, where that is higher."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
