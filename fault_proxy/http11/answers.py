"""Replies of the proxy's own, and the mark on those that it touches."""

from collections.abc import Iterable

from chaos.problems import MEDIA_TYPE, problem, title

MARK = "X-Chaos"


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
    body = bytes(problem(status, "this failure was asked for at the fault proxy").body)
    lines = [
        f"HTTP/1.1 {status} {title(status)}",
        f"Content-Type: {MEDIA_TYPE}",
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
