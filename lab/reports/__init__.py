"""The report of a run, on the terminal and in Markdown.

What says what, and where:

    words       every word of a report, in English and in Ukrainian
    numbers     how a figure is written
    report      the tables: which figures stand in which row, beside what was published
    remarks     the lines below the tables
    terminal, markdown   the same, laid out
    conclusion  from a result folder to its report
"""

from lab.reports.markdown import render_markdown
from lab.reports.report import Report
from lab.reports.terminal import TerminalReport
from lab.reports.words import LANGUAGES, Words

__all__ = ["LANGUAGES", "Report", "TerminalReport", "Words", "render_markdown"]
