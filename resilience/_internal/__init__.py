"""Checks of values that callers give."""
