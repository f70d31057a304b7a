"""When requests reached a server on the loopback and when its replies left, by the kernel's clock.

A raw packet socket queues the segments with data of one port while a tool runs; they are read
afterwards, so that no other process takes part in the run. It needs the right to open such a socket
(CAP_NET_RAW), and CAP_NET_ADMIN for a queue that holds a whole run.
"""

import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from ctypes import addressof, create_string_buffer
from typing import NamedTuple

_ETH_P_ALL, _ETH_P_IP = 3, 0x0800
_SO_ATTACH_FILTER, _SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 26, 33, 35
_QUEUE_BYTES = 1 << 30
_SNAP_BYTES = 64  # Ethernet, IP without options, and the ports
_PACKET_TYPE, _TO_THIS_HOST = 0xFFFFF004, 0  # the loopback shows each packet once more, outgoing
_TIMESTAMP = struct.Struct("qq")  # seconds and nanoseconds
_DROP, _KEEP = "drop", "keep"


class Segment(NamedTuple):
    """A TCP segment with data: when it was seen, whose connection it is of, and its direction."""

    at_s: float
    client_port: int
    is_reply: bool


@contextmanager
def captured(port: int) -> Iterator[list[Segment]]:
    """Fill a list with the segments to and from *port*, once the block is left.

    Raises:
        PermissionError: this process may not capture.
    """
    segments: list[Segment] = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL)) as raw:
        _attach(raw, _filter(port))
        raw.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _QUEUE_BYTES)
        raw.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        raw.bind(("lo", _ETH_P_ALL))
        raw.setblocking(False)
        yield segments
        segments.extend(_read(raw, port))


def waits_s(segments: Iterable[Segment]) -> list[float]:
    """Return, ascending, the seconds from each request to the first segment of its reply.

    A request in several segments counts from its last. What has no partner is left out: the
    capture's ends, and what a full queue has dropped.
    """
    asked: dict[int, float] = {}
    waits = []
    for segment in segments:
        if not segment.is_reply:
            asked[segment.client_port] = segment.at_s
        elif segment.client_port in asked:
            waits.append(segment.at_s - asked.pop(segment.client_port))
    return sorted(waits)


def _read(raw: socket.socket, port: int) -> Iterator[Segment]:
    space = socket.CMSG_SPACE(_TIMESTAMP.size)
    while True:
        try:
            frame, ancillary, _, _ = raw.recvmsg(_SNAP_BYTES, space)
        except BlockingIOError:
            return
        seconds, nanoseconds = _TIMESTAMP.unpack(ancillary[0][2])
        source, destination = struct.unpack_from("!HH", frame, 34)
        is_reply = source == port
        yield Segment(seconds + nanoseconds / 1e9, destination if is_reply else source, is_reply)


def _filter(port: int) -> list[tuple[int, int, int | str, int | str]]:
    """Return classic BPF: (operation, operand, where to go if true, and if false; 0 is on)."""
    load_word, load_half, load_byte = 0x20, 0x28, 0x30
    jump_if_equal, and_, shift_right, to_x = 0x15, 0x54, 0x74, 0x07
    subtract, subtract_x, return_ = 0x14, 0x1C, 0x06
    return [
        (load_word, _PACKET_TYPE, 0, 0),
        (jump_if_equal, _TO_THIS_HOST, 0, _DROP),
        (load_half, 12, 0, 0),
        (jump_if_equal, _ETH_P_IP, 0, _DROP),
        (load_byte, 23, 0, 0),
        (jump_if_equal, socket.IPPROTO_TCP, 0, _DROP),
        (load_half, 34, 0, 0),
        (jump_if_equal, port, 2, 0),
        (load_half, 36, 0, 0),
        (jump_if_equal, port, 0, _DROP),
        (load_byte, 46, 0, 0),  # the TCP head's length, in units of 4 bytes, in the upper half
        (and_, 0xF0, 0, 0),
        (shift_right, 2, 0, 0),
        (to_x, 0, 0, 0),
        (load_half, 16, 0, 0),  # IP's total length
        (subtract, 20, 0, 0),
        (subtract_x, 0, 0, 0),
        (jump_if_equal, 0, _DROP, _KEEP),
        (return_, 0, 0, 0),
        (return_, _SNAP_BYTES, 0, 0),
    ]


def _attach(raw: socket.socket, program: list[tuple[int, int, int | str, int | str]]) -> None:
    end = {_DROP: len(program) - 2, _KEEP: len(program) - 1}

    def jump(place: int, target: int | str) -> int:
        return target if isinstance(target, int) else end[target] - place - 1

    code = b"".join(
        struct.pack("HBBI", operation, jump(place, true), jump(place, false), operand)
        for place, (operation, operand, true, false) in enumerate(program)
    )
    kept = create_string_buffer(code, len(code))
    raw.setsockopt(
        socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", len(program), addressof(kept))
    )
