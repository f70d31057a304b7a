"""Checks of settings: all that is wrong is said at once."""

DAY_S = 86_400.0


def outside(name: str, value: float | None, low: float, high: float, next_step: str) -> str | None:
    """Return a complaint if `value` is not in [low, high] (NaN never is); None is not checked."""
    if value is None or low <= value <= high:
        return None
    return f"{name} must be in {low:g}..{high:g}, got {value!r}; {next_step}"


def refuse(*complaints: str | None) -> None:
    """Raise one ValueError with every complaint, if there is any."""
    real = [complaint for complaint in complaints if complaint]
    if real:
        raise ValueError("\n".join(real))
