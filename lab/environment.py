"""What a service sees of the lab's environment: little, so that a run depends on files alone."""

import os
from collections.abc import Collection, Mapping

_PASSED_ON = frozenset(
    (
        *("PATH", "HOME", "USER", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT"),
        *("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PYTHONUTF8", "LD_LIBRARY_PATH"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR"),
    )
)


def service_environment(own: Mapping[str, str], inherit: Collection[str]) -> dict[str, str]:
    """Return a service's whole environment.

    A variable that happens to be set in somebody's shell, `RETRIES=0` say, would change the policy
    under test unseen; a service that needs one names it under `inherit`.

    Args:
        own: what the system file and the client say, already expanded.
        inherit: names of further variables to pass on, where they are set.
    """
    passed_on = {
        name: value for name, value in os.environ.items() if name in _PASSED_ON or name in inherit
    }
    return passed_on | dict(own)
