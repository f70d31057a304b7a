"""The YAML parser's complaints in our words: what happened, where, and the next step."""

from ruamel.yaml.error import MarkedYAMLError

from lab.files.errors import START, Place, Wrong, show

_OPENED = {  # what the parser was reading -> what was left open
    "while scanning a quoted scalar": "the quote that opens here is never closed",
    "while scanning a double-quoted scalar": "the quote that opens here is never closed",
    "while parsing a flow sequence": 'the "[" that opens here is never closed',
    "while parsing a flow mapping": 'the "{" that opens here is never closed',
}
_KNOWN = (  # a part of the parser's words, what happened, the next step
    ("character '\\t'", "a tab stands where YAML wants spaces", "indent with spaces"),
    (
        "cannot start any token",
        "this character cannot start a value",
        "put the value in quotes",
    ),
    (
        "mapping values are not allowed here",
        'a second ":" stands in this line, or the line is indented too far',
        "quote the value or align the line with its neighbours",
    ),
    (
        "could not find expected ':'",
        'a key here lacks its ":"',
        "write key: value, and quote text that spans lines",
    ),
    (
        "expected '<document start>'",
        "something stands after the end of the one value",
        "keep one mapping a file",
    ),
    (
        "<block end>",
        "this line does not fit the indentation above it",
        "align it with its neighbours",
    ),
    (
        "expected ',' or",
        'a "," or a closing bracket is missing',
        "close the bracket that was opened",
    ),
    (
        "unknown escape character",
        "this is no escape that YAML knows",
        "write \\\\ for a backslash, or use single quotes",
    ),
)


def explain(error: MarkedYAMLError) -> Wrong:
    """Return *error* as what is wrong, at the place a person would look at."""
    problem = " ".join(str(error.problem or error.context or "unknown reason").split())
    place = _place(error.problem_mark) or _place(error.context_mark) or START
    opened = _OPENED.get(str(error.context))
    if opened and ("stream end" in problem or "end of stream" in problem):
        return Wrong(opened, advice="close it", place=_place(error.context_mark) or place)
    for words, what, advice in _KNOWN:
        if words in problem:
            return Wrong(what + _in_line(error), advice=advice, place=place)
    what = f"this is not YAML: {problem}"
    return Wrong(what, advice="check the quotes and the indentation here", place=place)


def _place(mark: object) -> Place | None:
    line, column = getattr(mark, "line", None), getattr(mark, "column", None)
    if not isinstance(line, int) or not isinstance(column, int):
        return None
    return Place(line=line + 1, column=column + 1)


def _in_line(error: MarkedYAMLError) -> str:
    """Return the line that the parser stopped in, to be told apart from its neighbours."""
    mark = error.problem_mark
    buffer, line = getattr(mark, "buffer", None), getattr(mark, "line", None)
    if not isinstance(buffer, str) or not isinstance(line, int):
        return ""
    lines = buffer.rstrip("\0").splitlines()
    return f" in {show(lines[line].strip())}" if line < len(lines) and lines[line].strip() else ""
