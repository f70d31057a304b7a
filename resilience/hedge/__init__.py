"""A second attempt beside a slow one, and the race between them."""
