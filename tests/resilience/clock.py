"""A clock that a test moves by hand, for what takes `now` as a function."""


class HandClock:
    """Call it for the seconds; set `now_s` to move it."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        """Return the seconds."""
        return self.now_s
