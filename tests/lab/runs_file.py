"""Files of runs made by hand, in the columns that a run leaves."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from lab.results.figures import figure_names
from lab.results.outline import FaultOutline, Outline, RowOutline

OUTLINE = Outline(
    title="",
    classes=("fresh", "stale"),
    conditions=(
        *(
            RowOutline(name=name, faults=(FaultOutline(label="chaos at rates", asked_share=share),))
            for name, share in (("30 % replies 500", 0.3), ("70 % replies 500", 0.7))
        ),
        RowOutline(
            name="500 ms delay", faults=(FaultOutline(label="chaos at rates", asked_share=None),)
        ),
    ),
)
COLUMNS = ("started_utc", "fault", "client", "repeat", *figure_names(OUTLINE), "note")


def run(fault: str, client: str, **figures: float | str) -> dict[str, str]:
    """Return one row: 200 requests by 4 tasks, whatever is not given not available."""
    row: dict[str, float | str] = dict.fromkeys(COLUMNS, "")
    row |= {"started_utc": "2026-11-29T20:00:00.000Z", "fault": fault, "client": client}
    row |= {"repeat": 1, "requests": 200, "tasks": 4, "error": 0}
    return {name: str(value) for name, value in (row | figures).items()}


def write_runs(path: Path, rows: Iterable[Mapping[str, str]]) -> Path:
    """Write *rows* under the header."""
    lines = [",".join(COLUMNS), *(",".join(row[name] for name in COLUMNS) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def table184_rows() -> list[dict[str, str]]:
    """Return five runs of each cell of Table 18.4 (one of the last), all within the bands."""
    return [
        run(
            fault,
            client,
            repeat=repeat + 1,
            fresh=fresh + step,
            stale=200 - fresh - step,
            mean_ms=mean_ms + step / 10,
            p95_ms=2 * mean_ms,
            requests_per_s=per_s + step,
            attempts_per_request=attempts,
            **_touched(fault, client, step),
        )
        for fault, client, fresh, steps, mean_ms, per_s, attempts in _CELLS
        for repeat, step in enumerate(steps)
    ] + [
        run(
            "rates stopped",
            "raw",
            requests=8,
            fresh=0,
            stale=8,
            mean_ms=10012.4,
            requests_per_s=0.3995,
            attempts_per_request=1,
        )
    ]


def _touched(fault: str, client: str, step: int) -> dict[str, float | str]:
    share, touched, met = _FAULTS.get((fault, client), (None, None, None))
    if touched is None or met is None:
        return {}
    if share is None:
        return {"touched": touched}
    if not met:  # an open circuit lets nothing through
        return {"touched": touched, "share_asked": share}
    touched += step
    return {"touched": touched, "share_hit": touched / met, "share_asked": share}


_FAULTS: dict[tuple[str, str], tuple[float | None, int, int]] = {  # share asked, touched, met
    ("30 % replies 500", "resilient"): (0.3, 81, 278),
    ("30 % replies 500", "raw"): (0.3, 57, 200),
    ("70 % replies 500", "resilient"): (0.7, 0, 0),
    ("70 % replies 500", "raw"): (0.7, 142, 200),
    ("500 ms delay", "resilient"): (None, 0, 0),
    ("500 ms delay", "raw"): (None, 200, 200),
}
_STEADY = (0, 0, 0, 0, 0)
_VARIED = (0, -3, 2, 4, -1)
_CELLS = (  # fault, client, fresh, what the runs add to it, mean ms, requests/s, attempts/request
    ("none", "resilient", 200, _STEADY, 1.7, 2280, 1),
    ("none", "raw", 200, _STEADY, 1.6, 2451, 1),
    ("30 % replies 500", "resilient", 195, _VARIED, 19.6, 201, 1.39),
    ("30 % replies 500", "raw", 143, _VARIED, 1.6, 2390, 1),
    ("70 % replies 500", "resilient", 0, _STEADY, 0.7, 5310, 0),
    ("70 % replies 500", "raw", 58, _VARIED, 1.7, 2270, 1),
    ("500 ms delay", "resilient", 0, _STEADY, 0.7, 5290, 0),
    ("500 ms delay", "raw", 200, _STEADY, 505.2, 7.9, 1),
    ("rates stopped", "resilient", 0, _STEADY, 0.8, 4980, 0),
)
