"""The words that only the report of a timeline has, in English and in Ukrainian."""

# ruff: noqa: RUF001 - Cyrillic letters are meant

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lab.reports.wording import LANGUAGES, Words


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineWords:
    """One language's words; templates take the named values of `str.format`."""

    phase: str
    burst: str
    event: str
    phases_title: str
    bursts_title: str
    events_title: str
    whole_title: str
    figures: Mapping[str, str]
    how_to_read: str
    by_breaker: str
    by_reply: str  # {well}
    runs_line: str  # {runs}
    marked_line: str  # {client}, {repeat}, {note}

    def heading(self, figure: str, words: Words) -> str:
        """Return what stands above the column of *figure*."""
        name, _, number = figure.rpartition("_")
        if number.isdecimal():  # of a second fault of an event, and so on
            return f"{words.heading(name)} {number}"
        return self.figures.get(figure) or words.heading(figure)


_ENGLISH = TimelineWords(
    phase="Phase",
    burst="Burst",
    event="Event",
    phases_title="What each phase did",
    bursts_title="What each burst got",
    events_title="From each event to its discovery, and from its end to recovery",
    whole_title="The whole",
    figures=MappingProxyType(
        {
            "requests": "Requests",
            "not_sent": "Not sent",
            "sent_late": "Sent late",
            "budget_spent": "Budget spent",
            "worst_second": "Good in worst second",
            "worst_second_at_s": "Worst second, from s",
            "breaker_opens_ms": "Breaker opens, ms",
            "first_unwell_ms": "First not well, ms",
            "detected_ms": "Detected, ms",
            "first_well_ms": "First well, ms",
            "recovered_ms": "Recovered, ms",
            "unwell_after": "Not well after",
        }
    ),
    how_to_read=(
        "Medians of the runs, with the lowest and the highest of them; in brackets the published "
        "figure. A request counts to the phase in which it was due, and latencies count from then. "
        "Not sent: no connection was to be had at all; sent late: over 100 ms after it was due."
    ),
    by_breaker=(
        "Detected: the breaker was seen open, at a look every 0.1 s. Well: {well}. Recovered: as "
        "many replies are well for a second as before the first event."
    ),
    by_reply=(
        "Detected: the first reply that was not {well}, as no service tells of a breaker. "
        "Recovered: as many replies are {well} for a second as before the first event."
    ),
    runs_line="Runs with each client: {runs}.",
    marked_line="{client}, run {repeat}, is not counted: {note}",
)

_UKRAINIAN = TimelineWords(
    phase="Фаза",
    burst="Серія",
    event="Подія",
    phases_title="Що було в кожній фазі",
    bursts_title="Що отримала кожна серія",
    events_title="Від події до її виявлення і від її кінця до відновлення",
    whole_title="Загалом",
    figures=MappingProxyType(
        {
            "requests": "Запитів",
            "not_sent": "Не надіслано",
            "sent_late": "Надіслано пізно",
            "budget_spent": "Витрачено бюджету",
            "worst_second": "Добрих у найгіршу секунду",
            "worst_second_at_s": "Найгірша секунда, від с",
            "breaker_opens_ms": "Запобіжник розімкнуто, мс",
            "first_unwell_ms": "Перша не добра, мс",
            "detected_ms": "Виявлено, мс",
            "first_well_ms": "Перша добра, мс",
            "recovered_ms": "Відновлено, мс",
            "unwell_after": "Не добрих після",
        }
    ),
    how_to_read=(
        "Медіани запусків, найменше й найбільше значення; у дужках надруковане значення. Запит "
        "належить до фази, у якій мав бути надісланий; від цього моменту лічиться і затримка. "
        "Не надіслано: з’єднання так і не було; пізно: понад 100 мс після призначеного моменту."
    ),
    by_breaker=(
        "Виявлено: запобіжник розімкнуто (перевірка кожні 0,1 с). Добра відповідь: {well}. "
        "Відновлено: протягом секунди добрих відповідей стільки ж, скільки до першої події."
    ),
    by_reply=(
        "Виявлено: перша відповідь, що не {well}, бо жоден сервіс не повідомляє про запобіжник. "
        "Відновлено: протягом секунди відповідей {well} стільки ж, скільки до першої події."
    ),
    runs_line="Запусків з кожним клієнтом: {runs}.",
    marked_line="{client}, запуск {repeat}, не враховано: {note}",
)

TIMELINE_LANGUAGES: Mapping[str, TimelineWords] = MappingProxyType(
    dict(zip(LANGUAGES, (_ENGLISH, _UKRAINIAN), strict=True))
)
