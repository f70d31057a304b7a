"""How figures are written for people: with the digits that they carry, and no rounding that lies.

A reader takes `0` for "none" and `100 %` for "all", so nothing else is written like that: one error
in 50,000 requests is `<0.01 %`, the other replies are `>99.99 %`, and 0.04 requests per second are
not `0.0`.
"""

_ALL = 100  # percent


def percent(share: float, *, decimals: int = 2) -> str:
    """Return a share in percent: `97.2 %`; `0 %` for none and `100 %` for all, and only for these.

    Args:
        share: >= 0; 1 is all. It may be more than that, as of a budget.
        decimals: at most so many are written; zeros at the end are not.
    """
    text = f"{_ALL * share:.{decimals}f}"
    smallest = 10.0**-decimals
    if share and not float(text):
        return f"<{smallest:.{decimals}f} %"
    if share != 1 and float(text) == _ALL:
        return f">{_ALL} %" if share > 1 else f">{_ALL - smallest:.{decimals}f} %"
    return f"{text.rstrip('0').rstrip('.') if decimals else text} %"


def significant(value: float, digits: int) -> str:
    """Return a number with *digits* significant digits, whole where it has more before the point.

    With 2 digits: `0.0036`, `0.36`, `4.0`, `12`, `2451`; `0` for nothing at all.
    """
    if not value:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])  # once rounded: 9.96 is 10
    return f"{value:.{max(0, digits - 1 - exponent)}f}"
