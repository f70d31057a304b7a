"""Trying again: whether, when, and within which budget."""
