"""How many calls run at once: a fixed number, or one that follows the source."""
