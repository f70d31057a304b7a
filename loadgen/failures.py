"""What goes wrong with a request other than its reply's content, in few and stable words."""

import os
import ssl

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


def cannot_connect(failure: OSError) -> str:
    """Return the error of a connection that was refused."""
    if isinstance(failure, ssl.SSLCertVerificationError):
        return f"cannot connect: TLS: {failure.verify_message}"
    if isinstance(failure, ssl.SSLError):
        return f"cannot connect: TLS: {(failure.reason or 'failed').lower().replace('_', ' ')}"
    if failure.errno is not None and failure.errno > 0:  # below are those of name look-ups
        return f"cannot connect: {os.strerror(failure.errno)}"  # the loops add the address
    return f"cannot connect: {failure.strerror or failure}"
