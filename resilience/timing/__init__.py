"""Deadlines on the event loop's clock."""
