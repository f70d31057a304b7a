"""`lab init`: writes a system and an experiment for a service of one's own, ready to run.

parsers         its options on the command line
init_command    asks what no option says, checks the answers, writes
first_files     the two files as text
"""
