"""Where the messages of an HTTP/1.1 stream begin and end: one direction, byte for byte."""

from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import NamedTuple

_HEAD_END = b"\r\n\r\n"
_LARGEST_HEAD_BYTES = 2**16
_LONGEST_LINE_BYTES = 2**14


class NotHttpError(Exception):
    """The stream is not, or no longer, HTTP/1.1; `rest` are the bytes not accounted for yet."""

    def __init__(self, rest: bytes = b"") -> None:
        super().__init__("not HTTP/1.1")
        self.rest = rest


class Open(Enum):
    """How a body without a length ends."""

    CHUNKED = auto()
    UNTIL_CLOSE = auto()


Body = int | Open  # an int: so many bytes


class Part(NamedTuple):
    """A piece of a message; all parts one after the other are the stream."""

    data: bytes
    head_size: int  # of so many bytes of `data`, which begins the message; 0: it goes on
    is_last: bool  # the message ends with it


class Framer:
    """Cuts a stream into messages.

    Args:
        read_head: Says how long the body after a head is; it is called when the parts before
            have been consumed. Raises `NotHttpError` for what is no head.
        may_be_head: Whether a head may begin like this; what does not is no HTTP.
    """

    __slots__ = ("_body", "_chunks", "_may_be_head", "_read_head", "is_blind", "partial")

    def __init__(
        self, read_head: Callable[[bytes], Body], may_be_head: Callable[[bytes], bool]
    ) -> None:
        self._read_head = read_head
        self._may_be_head = may_be_head
        self._body: Body = 0  # what is to come
        self._chunks: _Chunks | None = None
        self.is_blind = False  # pass everything as parts of the message before
        self.partial = b""  # a head that has not come to its end

    def parts(self, data: bytes) -> Iterator[Part]:
        """Yield the parts of *data*, as long as each as can be.

        Raises:
            NotHttpError: from here on it is no HTTP.
        """
        if self.partial:
            data, self.partial = self.partial + data, b""
        start = 0
        while start < len(data):
            body_start = start
            if self.is_blind:
                yield Part(data[start:], 0, is_last=False)
                return
            if self._body == 0:
                body_start = self._end_of_head(data, start)
                if not body_start:
                    return
            try:
                end = self._end_of_body(data, body_start)
            except ValueError as error:
                raise NotHttpError(data[start:]) from error
            is_last = self._body == 0
            yield Part(data[start:end], body_start - start, is_last)
            start = end

    def _end_of_head(self, data: bytes, start: int) -> int:
        """Return the position after the head; 0 if it is not all there."""
        found = data.find(_HEAD_END, start)
        if found < 0:
            partial = data[start:]
            if len(partial) > _LARGEST_HEAD_BYTES or not self._may_be_head(partial):
                raise NotHttpError(partial)
            self.partial = partial
            return 0
        end = found + len(_HEAD_END)
        try:
            self._body = self._read_head(data[start:end])
        except NotHttpError as error:
            raise NotHttpError(data[start:]) from error
        self._chunks = _Chunks() if self._body is Open.CHUNKED else None
        return end

    def _end_of_body(self, data: bytes, start: int) -> int:
        if isinstance(self._body, int):
            end = min(start + self._body, len(data))
            self._body -= end - start
            return end
        if self._chunks is None:
            return len(data)
        end, is_over = self._chunks.end(data, start)
        if is_over:
            self._body = 0
        return end


class _Chunks:
    """Finds the end of a chunked body (RFC 9112, 7.1)."""

    __slots__ = ("_is_trailer", "_left", "_line")

    def __init__(self) -> None:
        self._left = 0  # of the chunk and the line end after it
        self._line = b""  # that has not come to its end
        self._is_trailer = False

    def end(self, data: bytes, start: int) -> tuple[int, bool]:
        """Return how far the body goes in *data*, and whether it ends there.

        Raises:
            ValueError: this is no chunked body.
        """
        position = start
        while position < len(data):
            if self._left:
                skipped = min(self._left, len(data) - position)
                self._left -= skipped
                position += skipped
                continue
            line_end = data.find(b"\n", position) + 1
            self._line += data[position : line_end or len(data)]
            if len(self._line) > _LONGEST_LINE_BYTES:
                raise ValueError("a line is too long")
            if not line_end:
                break
            position = line_end
            line, self._line = self._line.strip(), b""
            if self._take_line(line):
                return position, True
        return len(data), False

    def _take_line(self, line: bytes) -> bool:
        """Read a size or a trailer; return whether the body ends with it."""
        if self._is_trailer:
            return not line
        size = int(line.partition(b";")[0], 16)
        if size < 0:
            raise ValueError("a chunk has no negative size")
        self._is_trailer = size == 0
        self._left = size + len(b"\r\n") if size else 0
        return False
