"""The table of a run, on the terminal and in Markdown.

What says what, and where:

    wording     every word of a report, in English and in Ukrainian
    numbers     how a figure is written
    content     which figures stand in which row, beside what was published
    tables      the tables below: the requests of a mix, what a sweep came to
    remarks     the lines below the table
    terminal, markdown   the same content, laid out
"""

from lab.reports.content import Report
from lab.reports.markdown import render_markdown
from lab.reports.terminal import TerminalReport
from lab.reports.wording import LANGUAGES, Words

__all__ = ["LANGUAGES", "Report", "TerminalReport", "Words", "render_markdown"]
