"""How a figure is written: as many digits as it carries, in the language's own way."""

from lab.reports.wording import Words
from lab.summary import Spread

_SMALL = 10  # below it a speed is written with one decimal


def write(figure: str, value: float, words: Words) -> str:
    """Return *value* of *figure* as a reader wants it.

    Counts are whole, but for a median between two; attempts have two decimals; times and rates
    have one below 10 and none above; shares are in percent, to a tenth.
    """
    if figure.startswith("share_"):
        return write_share(round(value, 3), words)
    if figure == "attempts_per_request":
        text = f"{value:.2f}"
    elif figure.endswith(("_ms", "_per_s")):
        text = f"{value:.1f}" if value < _SMALL else f"{value:.0f}"
    else:
        text = f"{value:.1f}".removesuffix(".0")
    return text.replace(".", words.decimal_mark)


def write_plain(value: float, words: Words) -> str:
    """Return a number of a file as it stands there: 0.4, 200, 11310."""
    return f"{value:.10g}".replace(".", words.decimal_mark)


def write_share(value: float, words: Words) -> str:
    """Return a share in percent, to a hundredth."""
    return f"{value * 100:.2f}".rstrip("0").rstrip(".").replace(".", words.decimal_mark) + " %"


def write_spread(figure: str, spread: Spread, words: Words, *, dash: str = "–") -> str:  # noqa: RUF001 - an en dash joins the ends of a range
    """Return the smallest and the largest run, or nothing if they read the same."""
    low, high = write(figure, spread.low, words), write(figure, spread.high, words)
    return "" if low == high else f"{low.removesuffix(' %')}{dash}{high}"
