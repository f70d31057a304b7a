"""`python -m lab.links.toxiproxy_guard URL NAME...`: removes proxies once its input has ended.

The lab holds the other end of its input and never writes: however the lab ends, the kernel closes
it, and the proxies go with all their toxics. Standard library only, so that it starts at once.
"""

import http.client
import signal
import sys
from collections.abc import Sequence
from urllib.parse import quote, urlsplit

ANSWER_S = 3.0


def main(argv: Sequence[str]) -> int:
    """Wait, remove, and return 0; 1 if the server did not answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the lab
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    server, *names = argv
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    return max([_remove(server, name) for name in names], default=0)


def _remove(server: str, name: str) -> int:
    parts = urlsplit(server)
    connection = http.client.HTTPConnection(parts.netloc, timeout=ANSWER_S)
    try:
        connection.request("DELETE", f"{parts.path}/proxies/{quote(name, safe='')}")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return 1
    finally:
        connection.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
