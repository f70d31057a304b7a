"""How much goes into a line between a generator's process and whoever drives it."""

SAMPLES_A_LINE = 100_000  # of 32 bytes each
LONGEST_LINE_BYTES = 2**24
