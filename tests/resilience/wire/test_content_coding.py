"""What a decoded body may be: all of what was meant, or an error; never more memory than a step."""

import gzip
import zlib
from collections.abc import AsyncIterator, Callable
from functools import partial

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resilience.wire.content_coding import decoder_of, in_chunks

STEP = 65_536


def raw_deflate(data: bytes) -> bytes:
    squeezed = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return squeezed.compress(data) + squeezed.flush()


ENCODE: dict[str, Callable[[bytes], bytes]] = {
    "gzip": partial(gzip.compress),
    "deflate": partial(zlib.compress),
}


def decoded(coding: str, data: bytes, cut: int = 0) -> bytes:
    """Return what the decoder makes of the data, which comes in pieces of `cut` bytes."""
    decoder = decoder_of(coding)
    pieces = [data] if cut == 0 else [data[at : at + cut] for at in range(0, len(data), cut)]
    parts = [part for piece in pieces for part in decoder.decode(piece)]
    decoder.finish()
    return b"".join(parts)


@given(body=st.binary(max_size=300), repeat=st.integers(1, 2_000), cut=st.integers(1, 5_000))
@pytest.mark.parametrize("coding", ["gzip", "deflate", "raw deflate", "identity", ""])
def test_every_body_comes_back_however_it_is_cut(
    coding: str, body: bytes, repeat: int, cut: int
) -> None:
    meant = body * repeat
    encode = raw_deflate if coding == "raw deflate" else ENCODE.get(coding, bytes)
    assert decoded(coding.removeprefix("raw "), encode(meant), cut) == meant


@pytest.mark.parametrize("size", [STEP - 1, STEP, STEP + 1, 10 * STEP])
def test_a_body_of_whole_steps_is_not_cut(size: int) -> None:
    assert len(decoded("gzip", gzip.compress(bytes(size)))) == size


def test_a_step_is_at_most_64_kib_however_much_a_few_bytes_are_meant_to_be() -> None:
    steps = decoder_of("gzip").decode(gzip.compress(bytes(50_000_000)))
    assert max(map(len, steps)) == STEP


def test_all_members_of_a_gzip_file_count_and_what_follows_them_does_not() -> None:
    members = gzip.compress(b"one") + gzip.compress(b"two")
    assert decoded("gzip", members) == b"onetwo"
    assert decoded("gzip", members, cut=1) == b"onetwo"
    assert decoded("gzip", members + b"padding") == b"onetwo"


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_body_that_ends_in_the_middle_is_an_error(coding: str) -> None:
    whole = ENCODE[coding](bytes(range(256)) * 100)
    with pytest.raises(httpx.DecodingError, match="ends in the middle"):
        decoded(coding, whole[: len(whole) // 2])


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_no_body_at_all_is_no_error(coding: str) -> None:
    assert decoded(coding, b"") == b""


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_what_is_in_no_coding_is_an_error(coding: str) -> None:
    with pytest.raises(httpx.DecodingError):
        decoded(coding, b"plain text, not encoded at all")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("br", "'br', which was not asked for"),
        ("ZSTD", "'zstd', which was not asked for"),
        ("gzip, gzip", "more than once"),
        ("gzip, br", "more than once"),
    ],
)
def test_what_cannot_be_undone_step_by_step_is_refused(value: str, message: str) -> None:
    with pytest.raises(httpx.DecodingError, match=message):
        decoder_of(value)


def test_an_unknown_coding_is_left_as_it_is() -> None:
    assert decoded("utf-8", b"text") == b"text"


@pytest.mark.parametrize(("size", "chunks"), [(None, ["abc", "de"]), (2, ["ab", "cd", "e"])])
async def test_a_body_may_be_read_in_chunks(size: int | None, chunks: list[str]) -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"abc"
        yield b"de"

    assert [chunk.decode() async for chunk in in_chunks(parts(), size)] == chunks
