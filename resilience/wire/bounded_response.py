"""A response whose body is decoded, and counted, step by step."""

from collections.abc import AsyncIterator
from typing import Any

import httpx

from resilience.errors import ResponseTooLarge, UndecodableBody
from resilience.wire.content_coding import Decoder, decoder_of, in_chunks


class BoundedResponse(httpx.Response):
    """Bounds a body that is read whole as it is decoded: a small one may be much, compressed.

    Args:
        status_code: See `httpx.Response`, as for the rest.
        limit_bytes: Largest decoded body for `aread`, in bytes; ResponseTooLarge beyond.
        rest: See `httpx.Response`.
    """

    def __init__(self, status_code: int, *, limit_bytes: int, **rest: Any) -> None:  # noqa: ANN401
        super().__init__(status_code, **rest)
        self._limit_bytes = limit_bytes
        self._is_gathered = False

    async def aread(self) -> bytes:
        """Return the whole body.

        Raises:
            ResponseTooLarge: It outgrew the limit.
            UndecodableBody: It is not in the coding that it claims, ends in its middle, or is
                in one that is not undone here, see `decoder_of`.
            httpx.TransportError: The network failed.
        """
        self._is_gathered = True
        return await super().aread()

    async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncIterator[bytes]:
        """Yield the decoded body as it comes, or in chunks of so many bytes; see `aread`."""
        if self.is_stream_consumed:  # the whole body is there, or else httpx says that it is gone
            parts = super().aiter_bytes(chunk_size)
        else:
            parts = in_chunks(self._decoded(), chunk_size)
        async for part in parts:
            yield part

    async def _decoded(self) -> AsyncIterator[bytes]:
        received = 0
        decoder: Decoder | None = None  # an answer without a body may name any coding
        try:
            async for data in self.aiter_raw():
                decoder = decoder or decoder_of(self.headers.get("content-encoding", ""))
                for part in decoder.decode(data):
                    received += len(part)
                    if self._is_gathered and received > self._limit_bytes:
                        raise ResponseTooLarge(self._limit_bytes)
                    yield part
            if decoder is not None:
                decoder.finish()
        except UndecodableBody as error:
            error.request = self.request
            raise
