"""What a run leaves: from samples to figures, on disk, and from there to verdicts.

outline     what the figures are of; kept in the folder, so that a report can be made again
figures     what one run came to, row by row; `recovery` and `touches` are parts of it
record      the result folder
manifest    what was run, with what, on what
summary     medians and spread over the runs, read from the folder
sweep       which settings no other beats
verdicts    medians held against published figures and expectations
"""
