"""The lines between a generator's process and whoever drives it: how long, and which is fixed."""

SAMPLES_A_LINE = 100_000  # of 32 bytes each
LONGEST_LINE_BYTES = 2**24
STOP = b'"stop"\n'
