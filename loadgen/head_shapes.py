"""Heads of replies that differ in nothing that counts: known by one pattern, and not parsed.

Most services send a header that is never the same twice, an id of the request or the time. A head
that was parsed once gives a pattern for all heads like it: the same status line and the same names
of headers in the same order; the same values of all headers that frame the reply or decide on its
class; any legal value of the others; any length of the body. A parser that took the first would
take those too, and find the same. What does not fit the pattern goes to the parser.
"""

import re
from collections.abc import Collection

# What the parser, or the reader around it, looks at: RFC 9112, 6 and 9, and RFC 9110, 7.6 and 8.4.
_DECISIVE = frozenset(
    {
        b"connection",
        b"content-encoding",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"x-chaos",
    }
)
_LENGTH = b"content-length"
_ANY_VALUE = rb"[\t\x20-\x7e]*+"  # of a header, RFC 9110, 5.5, without obsolete bytes


def pattern_of(head: bytes, body_bytes: int, decisive: Collection[bytes]) -> bytes | None:
    """Return a pattern of the heads that are like *head*; its group 1 is the length of the body.

    Args:
        head: of a reply that was whole and left the connection open; with its empty line.
        body_bytes: how long its body was.
        decisive: names of headers, in lower case, whose values the outcome rule reads.

    Returns:
        The source of a pattern, for `re.match`; None if the head does not say the body's length.
    """
    status_line, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    parts, lengths = [re.escape(status_line)], 0
    for line in lines:
        name, _, value = line.partition(b":")
        lowered = name.lower()
        if lowered == _LENGTH:
            before, digits, after = value.partition(b"%d" % body_bytes)
            if not digits or before.strip() or after.strip():
                return None
            lengths += 1
            parts.append(re.escape(name + b":" + before) + rb"([0-9]{1,15}+)" + re.escape(after))
        elif lowered in _DECISIVE or lowered in decisive:
            parts.append(re.escape(line))
        else:
            parts.append(re.escape(name + b":") + _ANY_VALUE)
    return b"\r\n".join(parts) + rb"\r\n\r\n" if lengths == 1 else None
