"""What a decoded body may be: all of what was meant, or an error; never more memory than a step."""

import gzip
import zlib
from collections.abc import AsyncIterator, Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resilience import UndecodableBody
from resilience._internal.wire.body import decoder_of, in_chunks

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


@given(
    sizes=st.lists(st.integers(0, 200_000), min_size=1, max_size=3),
    between=st.sampled_from([b"", bytes(9)]),
    after=st.sampled_from([b"", bytes(5), b"junk", b"\x1f", b"\x1fjunk"]),
    cut=st.integers(0, 300),
)
@settings(max_examples=60, deadline=None)
def test_members_of_any_size_come_back_whatever_stands_between_and_after_them(
    sizes: list[int], between: bytes, after: bytes, cut: int
) -> None:
    """A member beyond one step with anything behind it used to be decoded without end."""
    members = between.join(gzip.compress(b"a" * size) for size in sizes)
    assert decoded("gzip", members + after, cut) == b"a" * sum(sizes)


@pytest.mark.parametrize("size", [STEP, STEP + 1, 3 * STEP])
def test_what_follows_a_deflated_body_is_dropped(size: int) -> None:
    assert decoded("deflate", zlib.compress(bytes(size)) + b"junk") == bytes(size)


@pytest.mark.parametrize("size", [0, -1])
async def test_a_chunk_has_a_byte_at_least(size: int) -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"abc"

    with pytest.raises(ValueError, match="1 or more"):
        [chunk async for chunk in in_chunks(parts(), size)]


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_body_that_ends_in_the_middle_is_an_error(coding: str) -> None:
    whole = ENCODE[coding](bytes(range(256)) * 100)
    with pytest.raises(UndecodableBody, match="ends in the middle"):
        decoded(coding, whole[: len(whole) // 2])


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_no_body_at_all_is_no_error(coding: str) -> None:
    assert decoded(coding, b"") == b""


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_what_is_in_no_coding_is_an_error(coding: str) -> None:
    with pytest.raises(UndecodableBody):
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
    with pytest.raises(UndecodableBody, match=message):
        decoder_of(value)


def test_an_unknown_coding_is_left_as_it_is() -> None:
    assert decoded("utf-8", b"text") == b"text"


def test_identity_is_no_coding_among_others() -> None:
    assert decoded("identity, gzip", gzip.compress(b"text")) == b"text"


@pytest.mark.parametrize(("size", "chunks"), [(None, ["abc", "de"]), (2, ["ab", "cd", "e"])])
async def test_a_body_may_be_read_in_chunks(size: int | None, chunks: list[str]) -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"abc"
        yield b"de"

    assert [chunk.decode() async for chunk in in_chunks(parts(), size)] == chunks
