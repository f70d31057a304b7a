"""Replies of the proxy's own, and the mark on those that it touches."""

import json
from collections.abc import Iterable
from http import HTTPStatus

MARK = "X-Chaos"
_NAMES = {  # of RFC 9110; Python's own table has older ones before 3.13
    413: "Content Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
}


def answer(
    status: int,
    names: Iterable[str],
    *,
    retry_after_s: int | None,
    is_kept_alive: bool,
    has_body: bool = True,
) -> bytes:
    """Return the bytes of a reply in place of upstream's, a problem (RFC 9457).

    Args:
        status: Of the reply.
        names: Of the faults that did it.
        retry_after_s: For the header `Retry-After`, if given.
        is_kept_alive: Whether the connection goes on afterwards.
        has_body: False for the reply to a HEAD.
    """
    title = reason_phrase(status)
    problem = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": "this failure was asked for at the fault proxy",
    }
    body = json.dumps(problem).encode()
    lines = [
        f"HTTP/1.1 {status} {title}",
        "Content-Type: application/problem+json",
        f"Content-Length: {len(body)}",
        f"{MARK}: {', '.join(names)}",
    ]
    if retry_after_s is not None:
        lines.append(f"Retry-After: {retry_after_s}")
    if not is_kept_alive:
        lines.append("Connection: close")
    head = "".join(f"{line}\r\n" for line in (*lines, "")).encode("latin-1")
    return head + body if has_body else head


def marked(head: bytes, names: Iterable[str]) -> bytes:
    """Return the *head* of a reply with the mark as its last header; all else stays as it is."""
    line = f"{MARK}: {', '.join(names)}\r\n\r\n"
    return head.removesuffix(b"\r\n") + line.encode("latin-1")


def reason_phrase(status: int) -> str:
    """Return the name of *status*, or `Error` for a number that has none."""
    try:
        return _NAMES.get(status) or HTTPStatus(status).phrase
    except ValueError:
        return "Error"
