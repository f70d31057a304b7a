"""What a fault does to the bytes of one direction of one connection.

Pure: time comes in as an argument, chance as a seeded generator. An effect only answers questions;
the flow that asks them moves the bytes.
"""

import math
import random
from enum import Enum, auto


class Ending(Enum):
    """How a stream comes to its end."""

    EOF = auto()  # FIN in this direction only
    CLOSE = auto()  # FIN in both
    RESET = auto()  # RST to both ends


class Effect:
    """Leaves everything as it is; each kind overrides what it changes."""

    __slots__ = ()

    holds = False  # nothing passes at all, neither bytes nor the end

    def altered(self, data: bytes) -> bytes:
        """Return what arrives in place of *data*; as many bytes."""
        return data

    def delay_s(self) -> float:
        """Return by how much the bytes that were just read are late."""
        return 0.0

    def allowance(self, wanted: int, now_s: float) -> int:
        """Return how many of the *wanted* bytes (>= 1) may pass now; at least 0."""
        del now_s
        return wanted

    def allowed_at_s(self, wanted: int, now_s: float) -> float:
        """Return when some of the *wanted* bytes may pass, where none may now."""
        del wanted
        return now_s

    def passed(self, count: int, now_s: float) -> None:
        """Take note that *count* bytes have passed."""

    def ending(self, now_s: float) -> Ending | None:
        """Return the end that the stream comes to now; None: it goes on."""
        del now_s
        return None

    def ends_at_s(self) -> float:
        """Return when `ending` has to be asked again though no byte passes."""
        return math.inf


class Late(Effect):
    """Latency with a uniform jitter."""

    __slots__ = ("_delay_s", "_jitter_s", "_random")

    def __init__(self, delay_s: float, jitter_s: float, chance: random.Random) -> None:
        self._delay_s = delay_s
        self._jitter_s = jitter_s
        self._random = chance

    def delay_s(self) -> float:
        """Draw one number, and only where there is a jitter."""
        jitter_s = self._jitter_s * (2 * self._random.random() - 1) if self._jitter_s else 0.0
        return max(0.0, self._delay_s + jitter_s)


class TokenBucket(Effect):
    """At most `bytes_per_s`, over a burst of a twentieth of a second.

    A wait lasts until a fifth of the burst (or all that is wanted) is there, so that a fast link
    does not pass its bytes one by one.
    """

    __slots__ = ("_bytes_per_s", "_level", "_seen_at_s", "_size")

    def __init__(self, bytes_per_s: float, now_s: float) -> None:
        self._bytes_per_s = bytes_per_s
        self._size = self._level = max(1.0, bytes_per_s / 20)
        self._seen_at_s = now_s

    def allowance(self, wanted: int, now_s: float) -> int:
        """Fill the bucket for the time that passed, and look into it."""
        earned = (now_s - self._seen_at_s) * self._bytes_per_s
        self._level = min(self._size, self._level + earned)
        self._seen_at_s = now_s
        return min(wanted, math.floor(self._level + _ROUNDING))

    def allowed_at_s(self, wanted: int, now_s: float) -> float:
        """Return when enough is there to go on."""
        missing = min(wanted, max(1.0, self._size / 5)) - self._level
        return now_s + missing / self._bytes_per_s

    def passed(self, count: int, now_s: float) -> None:
        """Take the bytes out."""
        del now_s
        self._level -= count


class Pieces(Effect):
    """So many bytes at a time, with a pause after each piece."""

    __slots__ = ("_pause_s", "_piece_bytes", "_resumes_at_s")

    def __init__(self, piece_bytes: int, pause_s: float) -> None:
        self._piece_bytes = piece_bytes
        self._pause_s = pause_s
        self._resumes_at_s = -math.inf

    def allowance(self, wanted: int, now_s: float) -> int:
        """Return a piece, unless the pause goes on."""
        return 0 if now_s < self._resumes_at_s else min(wanted, self._piece_bytes)

    def allowed_at_s(self, wanted: int, now_s: float) -> float:
        """Return the end of the pause."""
        del wanted
        return max(now_s, self._resumes_at_s)

    def passed(self, count: int, now_s: float) -> None:
        """Begin the pause."""
        del count
        self._resumes_at_s = now_s + self._pause_s


class Hold(Effect):
    """A black hole."""

    __slots__ = ()

    holds = True


class Cut(Effect):
    """The stream ends after so many bytes or at a given time, whichever comes first."""

    __slots__ = ("_at_s", "_ending", "_left")

    def __init__(
        self, ending: Ending, *, after_bytes: int | None = None, at_s: float | None = None
    ) -> None:
        self._ending = ending
        self._left = after_bytes
        self._at_s = math.inf if at_s is None else at_s

    def allowance(self, wanted: int, now_s: float) -> int:
        """Return what is left until the cut."""
        del now_s
        return wanted if self._left is None else min(wanted, self._left)

    def passed(self, count: int, now_s: float) -> None:
        """Count down."""
        del now_s
        if self._left is not None:
            self._left -= count

    def ending(self, now_s: float) -> Ending | None:
        """Tell whether the cut is reached."""
        return self._ending if self._left == 0 or now_s >= self._at_s else None

    def ends_at_s(self) -> float:
        """Return the given time."""
        return self._at_s


class Noise(Effect):
    """A share of the bytes becomes other bytes."""

    __slots__ = ("_log_kept", "_random", "_skip")

    def __init__(self, share: float, chance: random.Random) -> None:
        self._random = chance
        self._log_kept = math.log1p(-share) if share < 1 else -math.inf
        self._skip = self._gap()

    def altered(self, data: bytes) -> bytes:
        """Jump from hit to hit: the cost is that of the bytes hit, not of all."""
        if self._skip >= len(data):
            self._skip -= len(data)
            return data
        noisy = bytearray(data)
        while self._skip < len(noisy):
            noisy[self._skip] ^= self._random.randint(1, 255)
            self._skip += 1 + self._gap()
        self._skip -= len(noisy)
        return bytes(noisy)

    def _gap(self) -> int:
        """Return how many bytes stay whole before the next hit: geometrically distributed."""
        return int(math.log(1.0 - self._random.random()) / self._log_kept)


_ROUNDING = 1e-6
