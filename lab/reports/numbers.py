"""How a figure is written: as many digits as it carries, in the language's own way."""

from lab.reports.words import Words
from lab.results.summary import Spread
from loadgen import percent, significant

SHARES = ("budget_spent", "worst_second")  # figures in percent, beside those of what was hit
_PLAIN = 0.01  # a share further than this from none and all is plain with one decimal
_FEWEST_ATTEMPTS = 0.005  # per request; fewer would round to none


def write(figure: str, value: float, words: Words) -> str:
    """Return *value* of *figure* as a reader wants it; `0` only for nothing at all.

    Counts are whole, but for a median between two; attempts have two decimals; times and rates
    have two digits, and more where they are whole; shares are in percent.
    """
    if figure in SHARES or figure.startswith("share_"):
        return write_share(value, words)
    if figure == "attempts_per_request":
        text = "<0.01" if 0 < value < _FEWEST_ATTEMPTS else f"{value:.2f}"
    elif figure.endswith(("_ms", "_per_s")):
        text = significant(value, 2)
    else:
        text = f"{value:.1f}".removesuffix(".0")
    return _in_language(text, words)


def write_plain(value: float, words: Words) -> str:
    """Return a number of a file as it stands there: 0.4, 200, 11310."""
    return _in_language(f"{value:.10g}", words)


def write_share(share: float, words: Words, *, decimals: int | None = None) -> str:
    """Return a share in percent; `0 %` and `100 %` only for none and all.

    Args:
        share: >= 0; 1 is all.
        words: of the language.
        decimals: at most so many; None: one, and two near none and all.
    """
    if decimals is None:
        decimals = 1 if _PLAIN < share < 1 - _PLAIN or share > 1 else 2
    return _in_language(percent(share, decimals=decimals), words)


def write_spread(figure: str, spread: Spread, words: Words, *, dash: str = "–") -> str:  # noqa: RUF001 - an en dash joins the ends of a range
    """Return the smallest and the largest run, or nothing if they read the same."""
    low, high = write(figure, spread.low, words), write(figure, spread.high, words)
    return _joined(low, high, dash)


def write_share_spread(spread: Spread, words: Words) -> str:
    """Return the smallest and the largest share of a run, or nothing if they read the same."""
    low, high = write_share(spread.low, words), write_share(spread.high, words)
    return _joined(low, high, "–")  # noqa: RUF001 - as in write_spread


def _joined(low: str, high: str, dash: str) -> str:
    """Return `28.1–30.6 %`: a unit stands once."""  # noqa: RUF002 - as in write_spread
    return "" if low == high else f"{low.removesuffix(' %')}{dash}{high}"


def _in_language(text: str, words: Words) -> str:
    return text.replace(".", words.decimal_mark)
