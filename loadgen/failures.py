"""What goes wrong with a request other than its reply's content, in few and stable words."""

import errno
import os
import resource
import socket
import ssl

from loadgen.endings import Ending
from loadgen.outcomes import ERROR_CLASS, GENERATOR_ERROR

NO_REPLY = "closed without a reply"
CLOSING_RACE = "closed before a reply, on a reused connection"
CUT_SHORT = "reply cut short"
MALFORMED = "reply is not HTTP/1"
HEAD_TOO_LONG = "head of the reply is too long"
UNASKED_UPGRADE = "reply switches protocols"
EARLY_BYTES = "bytes came before the request"


def no_connection(limit_s: float) -> str:
    """Return the error of a connection that was not made in time."""
    return f"no connection in {limit_s:g} s"


def no_first_byte(limit_s: float) -> str:
    """Return the error of a reply that did not begin in time."""
    return f"no first byte in {limit_s:g} s"


def no_complete_reply(limit_s: float) -> str:
    """Return the error of a reply that did not end in time."""
    return f"no complete reply in {limit_s:g} s"


def no_free_connection(limit_s: float) -> str:
    """Return the error of a request that was never sent, as every connection was busy."""
    return f"no free connection in {limit_s:g} s"


# What this side may lack, by the failure that says so; and what to do about it. The request was not
# sent then, and nothing is known of the target.
_FEWER = "keep connections alive or use fewer"
_OWN_WANTS = {
    errno.EMFILE: ("too many open files", "raise ulimit -n or use fewer connections"),
    errno.ENFILE: ("too many open files on this machine", "raise fs.file-max or use fewer"),
    errno.EADDRNOTAVAIL: ("no free local port", f"{_FEWER}, or widen net.ipv4.ip_local_port_range"),
    errno.EADDRINUSE: ("no free local port", f"{_FEWER}, or widen net.ipv4.ip_local_port_range"),
    errno.ENOBUFS: ("no buffer space for a connection", _FEWER),
    errno.ENOMEM: ("no memory for a connection", "free some, or use fewer connections"),
    errno.EAGAIN: ("no resources for a connection", _FEWER),
    errno.EPERM: ("this machine permits no more connections", f"look at its firewall, or {_FEWER}"),
}
_OF_A_UNIX_SOCKET = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


def own_want(failure: OSError, *, is_unix: bool = False) -> str:
    """Return what this machine or process lacked for a connection; empty if it lacked nothing.

    Args:
        failure: of opening a connection.
        is_unix: whether to a unix socket, whose server says EAGAIN while its own queue is full.
    """
    if isinstance(failure, ssl.SSLError | socket.gaierror):  # with numbers of their own
        return ""
    number = failure.errno or 0
    if number not in (_OF_A_UNIX_SOCKET if is_unix else _OWN_WANTS):
        return ""
    words, _ = _OWN_WANTS[number]
    if number == errno.EMFILE:
        return f"{words} (limit {resource.getrlimit(resource.RLIMIT_NOFILE)[0]})"
    return words


def advice_on(want: str) -> str:
    """Return what to do about such a want, in words that follow it."""
    # The longest first, since one begins with another.
    known = sorted(_OWN_WANTS.values(), reverse=True)
    return next((advice for words, advice in known if want.startswith(words)), _FEWER)


def failed(error: str) -> Ending:
    """Return the ending of a request that the target is to answer for and did not."""
    return Ending(ERROR_CLASS, None, error)


def not_connected(failure: OSError, *, is_unix: bool = False) -> Ending:
    """Return the ending of a request for which no connection could be opened."""
    if want := own_want(failure, is_unix=is_unix):
        return Ending(GENERATOR_ERROR, None, want)
    return failed(cannot_connect(failure))


def cannot_connect(failure: OSError) -> str:
    """Return the error of a connection that was refused."""
    if isinstance(failure, ssl.SSLCertVerificationError):
        return f"cannot connect: TLS: {failure.verify_message}"
    if isinstance(failure, ssl.SSLError):
        return f"cannot connect: TLS: {(failure.reason or 'failed').lower().replace('_', ' ')}"
    if failure.errno is not None and failure.errno > 0:  # below are those of name look-ups
        return f"cannot connect: {os.strerror(failure.errno)}"  # the loops add the address
    return f"cannot connect: {failure.strerror or failure}"
